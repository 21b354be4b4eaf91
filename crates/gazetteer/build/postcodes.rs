//! Unpacks the postcodes (format GBPC3, `data/rebuild/postcodes_reference.py`), splits them into tables and replaces
//! the names of authorities by region numbers.

use std::fs::File;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::layout::{BoundsRow, Column, RegionNumber, SECTORS_PER_BLOCK, SectorRow};
use crate::source::SourceData;
use crate::{Result, write_table};

/// Length of the header in bytes.
const HEADER_BYTES: usize = 24;

/// Writes `authorities`, `blocks`, `sectors` and `units`.
pub(crate) fn write_all(source: &SourceData) -> Result {
    let mut packed = Vec::new();
    GzDecoder::new(File::open("data/postcodes_gb.bin.gz")?).read_to_end(&mut packed)?;
    let (header, rest) = packed.split_at(HEADER_BYTES);
    let number =
        |at: usize| -> Result<usize> { Ok(u32::from_le_bytes(header[at..at + 4].try_into()?) as usize) };
    if &header[..8] != b"GBPC3\0\0\0" {
        return Err("postcodes_gb.bin.gz is not in the format GBPC3".into());
    }
    let (mut list, rest) = rest.split_at(number(16)?);
    let (sectors, units) = rest.split_at(number(12)? * SectorRow::BYTES);

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
        region.ok().map(|number| RegionNumber(number as u16)).write(&mut authorities);
    }
    write_table("authorities", &authorities)?;
    let mut blocks = Vec::new();
    let (rows, _) = sectors.as_chunks();
    for block in rows.chunks(SECTORS_PER_BLOCK) {
        bounding_box(block).write(&mut blocks);
    }
    write_table("blocks", &blocks)?;
    write_table("sectors", sectors)?;
    write_table("units", units)
}

/// Returns the bounding box of some sectors.
fn bounding_box(sectors: &[[u8; SectorRow::BYTES]]) -> BoundsRow {
    let none = BoundsRow { south: i32::MAX, west: i32::MAX, north: i32::MIN, east: i32::MIN };
    sectors.iter().map(|row| SectorRow::read(row).bounds()).fold(none, |a, b| BoundsRow {
        south: a.south.min(b.south),
        west: a.west.min(b.west),
        north: a.north.max(b.north),
        east: a.east.max(b.east),
    })
}
