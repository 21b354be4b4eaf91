//! The tables that `build/` writes, embedded in the binary and read in place.
//!
//! Numbers are little endian and have 32 bits unless stated otherwise. Coordinates are in units of 1e-5 degree, except
//! in `SECTORS` and `BLOCKS`, where the unit is 1e-4 degree. [`NONE`] stands for a missing number of 16 bits. [`list`]
//! describes tables of lists.

use crate::layout::NONE;

macro_rules! table {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name)).as_chunks().0
    };
}
macro_rules! bytes {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

/// Entities that have names, by rank. Columns: GeoNames id, or the number of a region or district; latitude; longitude;
/// offset in `NAMES` with the marks of [`crate::layout`]; region and district (16 bits each); country (8 bits).
pub static ENTITIES: &[[u8; 21]] = table!("entities");
/// Entity numbers of places, sorted by GeoNames id.
pub static BY_ID: &[[u8; 4]] = table!("by_id");
/// Postcode districts in natural order of their codes. Columns: code padded to four bytes; latitude; longitude; offset
/// of the main place in `NAMES`; region (16 bits); country (8 bits).
pub static DISTRICTS: &[[u8; 19]] = table!("districts");
/// Regions, sorted by code. Columns: offset in `REGION_TEXTS`; latitude; longitude; parent (16 bits); country (8 bits);
/// months between TB tests (8 bits).
pub static REGIONS: &[[u8; 16]] = table!("regions");
/// One line for each region: code, name, group and aliases, separated by `|`.
pub static REGION_TEXTS: &str = include_str!(concat!(env!("OUT_DIR"), "/region_texts"));
/// Names of places in their original spelling, one on each line.
pub static NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/names"));
/// The k-d tree of places: entity numbers. The root of each subtree is the middle of its range. The axes are x, y and z
/// in turn.
pub static TREE: &[[u8; 4]] = table!("tree");

/// Folded names of entities, one on each line.
pub static FOLDED: &[u8] = bytes!("folded");
/// Suffixes of folded names that start at a word, in alphabetical order. Columns: offset in `FOLDED`; entity with the
/// mark [`IS_WHOLE_NAME`](crate::layout::IS_WHOLE_NAME).
pub static SUFFIXES: &[[u8; 8]] = table!("suffixes");
/// Automaton (`fst::Set`) of the folded names.
pub static SPELLINGS: &[u8] = bytes!("spellings");

/// Automaton (`fst::Map`) from the folded name of areas to the number of their list in `QUALIFIER_AREAS`.
pub static QUALIFIERS: &[u8] = bytes!("qualifiers");
/// Lists of areas: the kind in the upper 16 bits, the row number in the lower.
pub static QUALIFIER_AREAS: &[[u8; 4]] = table!("qualifier_areas");

/// Lists of the places in each region, by rank.
pub static REGION_PLACES: &[[u8; 4]] = table!("region_places");
/// Lists of the districts in each region.
pub static REGION_DISTRICTS: &[[u8; 4]] = table!("region_districts");
/// Lists of the regions in each region, by name.
pub static REGION_REGIONS: &[[u8; 4]] = table!("region_regions");
/// Lists of the places in each district, by rank.
pub static DISTRICT_PLACES: &[[u8; 4]] = table!("district_places");

/// The sector table of the format GBPC3 (`data/README.md`).
pub static SECTORS: &[[u8; 26]] = table!("sectors");
/// Bounding boxes of [`SECTORS_PER_BLOCK`](crate::layout::SECTORS_PER_BLOCK) sectors each: least latitude and
/// longitude, then greatest latitude and longitude.
pub static BLOCKS: &[[u8; 16]] = table!("blocks");
/// The body of the format GBPC3.
pub static UNITS: &[u8] = bytes!("units");
/// The region of each authority of the format GBPC3.
pub static AUTHORITIES: &[[u8; 2]] = table!("authorities");

/// The words of the grid, padded with spaces to nine bytes.
pub static WORDS: &[[u8; 9]] = table!("words");
/// Automaton (`fst::Map`) from word to number.
pub static WORD_NUMBERS: &[u8] = bytes!("word_numbers");

pub fn u16_at(row: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([row[at], row[at + 1]])
}

pub fn u32_at(row: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]])
}

/// Reads a latitude and the longitude behind it. Returns degrees.
pub fn degrees_at(row: &[u8], at: usize) -> (f64, f64) {
    let degrees = |at| f64::from(u32_at(row, at).cast_signed()) / 1e5;
    (degrees(at), degrees(at + 4))
}

/// Converts a 16-bit column, in which [`NONE`] stands for no number.
pub fn optional(number: u16) -> Option<u16> {
    (number != NONE).then_some(number)
}

/// Returns the members of one list. A table of lists starts with the index of the first member of each list and the end
/// of the last one; the members follow.
pub fn list(lists: &'static [[u8; 4]], number: usize) -> impl Iterator<Item = u32> + 'static {
    let at = |i: usize| u32::from_le_bytes(lists[i]) as usize;
    lists[at(number)..at(number + 1)].iter().map(|member| u32::from_le_bytes(*member))
}

/// Returns the line at this offset of `NAMES`.
pub fn name_at(at: u32) -> &'static str {
    NAMES[at as usize..].split('\n').next().unwrap_or_default()
}
