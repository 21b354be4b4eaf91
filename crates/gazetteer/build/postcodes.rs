//! Takes the packed postcodes (format GBPC3) apart into its sector table and its units, unpacked, and replaces names of
//! authorities by numbers of regions.

use std::fs::File;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::source::Source;
use crate::{NONE, Result, write};

/// Bytes of the header and of a row of the sector table.
const HEADER: usize = 24;
const SECTOR: usize = 26;
/// Sectors that share a box: neighbours in the table mostly are on the map too.
const BLOCK: usize = 32;

pub fn write_all(source: &Source) -> Result {
    let mut packed = Vec::new();
    GzDecoder::new(File::open("data/postcodes_gb.bin.gz")?).read_to_end(&mut packed)?;
    let (header, rest) = packed.split_at(HEADER);
    let number =
        |at: usize| -> Result<usize> { Ok(u32::from_le_bytes(header[at..at + 4].try_into()?) as usize) };
    if &header[..8] != b"GBPC3\0\0\0" {
        return Err("not GBPC3".into());
    }
    let (mut list, rest) = rest.split_at(number(16)?);
    let (sectors, units) = rest.split_at(number(12)? * SECTOR);

    let mut authorities = Vec::new();
    for _ in 0..number(8)? {
        let mut text = || -> Result<&str> {
            let (length, after) = list.split_first().ok_or("list of authorities ends early")?;
            let (text, after) = after.split_at(usize::from(*length));
            list = after;
            Ok(std::str::from_utf8(text)?)
        };
        let [_code, _name, iso] = [text()?, text()?, text()?];
        let region = source.regions.binary_search_by(|region| region.iso.as_str().cmp(iso));
        authorities.extend(region.map_or(NONE, |found| found as u16).to_le_bytes());
    }
    write("authorities", &authorities)?;
    write("blocks", &sectors.chunks(BLOCK * SECTOR).flat_map(block).collect::<Vec<_>>())?;
    write("sectors", sectors)?;
    write("units", units)
}

/// Least latitude and longitude of some sectors, then the greatest, 32 bits each.
fn block(sectors: &[u8]) -> [u8; 16] {
    let (mut least, mut most) = ([i32::MAX; 2], [i32::MIN; 2]);
    for row in sectors.chunks_exact(SECTOR) {
        for axis in 0..2 {
            let from: [u8; 4] = std::array::from_fn(|byte| row[12 + 4 * axis + byte]);
            let from = i32::from_le_bytes(from);
            let extent = u16::from_le_bytes([row[20 + 2 * axis], row[21 + 2 * axis]]);
            least[axis] = from.min(least[axis]);
            most[axis] = (from + i32::from(extent)).max(most[axis]);
        }
    }
    let mut packed = [0; 16];
    for (bytes, number) in packed.chunks_exact_mut(4).zip(least.into_iter().chain(most)) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    packed
}
