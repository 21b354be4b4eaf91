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
    write("sectors", sectors)?;
    write("units", units)
}
