//! Unpacks the postcodes (format GBPC3, `data/README.md`), splits them into tables and replaces the names of
//! authorities by region numbers.

use std::fs::File;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::layout::{NONE, SECTORS_PER_BLOCK};
use crate::source::SourceData;
use crate::{Result, write_table};

/// Length of the header in bytes.
const HEADER_BYTES: usize = 24;
/// Length of a row of the sector table in bytes.
const SECTOR_BYTES: usize = 26;

/// Writes `authorities`, `blocks`, `sectors` and `units`.
pub fn write_all(source: &SourceData) -> Result {
    let mut packed = Vec::new();
    GzDecoder::new(File::open("data/postcodes_gb.bin.gz")?).read_to_end(&mut packed)?;
    let (header, rest) = packed.split_at(HEADER_BYTES);
    let number =
        |at: usize| -> Result<usize> { Ok(u32::from_le_bytes(header[at..at + 4].try_into()?) as usize) };
    if &header[..8] != b"GBPC3\0\0\0" {
        return Err("postcodes_gb.bin.gz is not in the format GBPC3".into());
    }
    let (mut list, rest) = rest.split_at(number(16)?);
    let (sectors, units) = rest.split_at(number(12)? * SECTOR_BYTES);

    let mut authorities = Vec::new();
    for _ in 0..number(8)? {
        let mut read_text = || -> Result<&str> {
            let (length, after) = list.split_first().ok_or("the list of authorities is truncated")?;
            let (text, after) = after.split_at(usize::from(*length));
            list = after;
            Ok(std::str::from_utf8(text)?)
        };
        let [_code, _name, iso] = [read_text()?, read_text()?, read_text()?];
        let region = source.regions.binary_search_by(|region| region.iso.as_str().cmp(iso));
        authorities.extend(region.map_or(NONE, |number| number as u16).to_le_bytes());
    }
    write_table("authorities", &authorities)?;
    write_table(
        "blocks",
        &sectors.chunks(SECTORS_PER_BLOCK * SECTOR_BYTES).flat_map(bounding_box).collect::<Vec<_>>(),
    )?;
    write_table("sectors", sectors)?;
    write_table("units", units)
}

/// Returns the bounding box of some sectors: least latitude and longitude, then greatest latitude and longitude.
fn bounding_box(sectors: &[u8]) -> [u8; 16] {
    let (mut least, mut greatest) = ([i32::MAX; 2], [i32::MIN; 2]);
    for row in sectors.chunks_exact(SECTOR_BYTES) {
        for axis in 0..2 {
            let from: [u8; 4] = std::array::from_fn(|byte| row[12 + 4 * axis + byte]);
            let from = i32::from_le_bytes(from);
            let extent = u16::from_le_bytes([row[20 + 2 * axis], row[21 + 2 * axis]]);
            least[axis] = from.min(least[axis]);
            greatest[axis] = (from + i32::from(extent)).max(greatest[axis]);
        }
    }
    let mut packed = [0; 16];
    for (bytes, number) in packed.chunks_exact_mut(4).zip(least.into_iter().chain(greatest)) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    packed
}
