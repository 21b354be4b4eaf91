//! The tables that `build/` writes, embedded in the binary and read in place.
//!
//! [`crate::layout`] has the columns of the rows. Other numbers are little endian with 32 bits. [`list`] describes
//! tables of lists.

use crate::layout::{
    BoundsRow, Column, Coordinates, DistrictRow, EntityRow, RegionRow, SectorRow, SuffixRow,
};

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

/// Entities that have names, by rank.
pub(crate) static ENTITIES: &[[u8; EntityRow::BYTES]] = table!("entities");
/// Entity numbers of places, sorted by GeoNames id.
pub(crate) static BY_ID: &[[u8; 4]] = table!("by_id");
/// Entity numbers of the countries that are found by name.
pub(crate) static NAMED_COUNTRIES: &[[u8; 4]] = table!("named_countries");
/// Postcode districts in natural order of their codes.
pub(crate) static DISTRICTS: &[[u8; DistrictRow::BYTES]] = table!("districts");
/// Regions, sorted by code.
pub(crate) static REGIONS: &[[u8; RegionRow::BYTES]] = table!("regions");
/// One line for each region: code, name, group and aliases, separated by `|`.
pub(crate) static REGION_TEXTS: &str = include_str!(concat!(env!("OUT_DIR"), "/region_texts"));
/// Names of places in their original spelling, one on each line.
pub(crate) static NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/names"));
/// The k-d tree of places: entity numbers. The root of each subtree is the middle of its range. The axes are x, y and z
/// in turn.
pub(crate) static TREE: &[[u8; 4]] = table!("tree");

/// The border of Ireland and the United Kingdom, from the Irish Sea to the Atlantic.
pub(crate) static IRISH_BORDER: &[[u8; Coordinates::BYTES]] = table!("irish_border");

/// Folded names of entities, one on each line.
pub(crate) static FOLDED: &[u8] = bytes!("folded");
/// Suffixes of folded names that start at a word, in alphabetical order.
pub(crate) static SUFFIXES: &[[u8; SuffixRow::BYTES]] = table!("suffixes");
/// Automaton (`fst::Set`) of the folded names.
pub(crate) static SPELLINGS: &[u8] = bytes!("spellings");

/// Automaton (`fst::Map`) from the folded name of areas to the number of their list in `QUALIFIER_AREAS`.
pub(crate) static QUALIFIERS: &[u8] = bytes!("qualifiers");
/// Lists of areas: the kind in the upper 16 bits, the row number in the lower.
pub(crate) static QUALIFIER_AREAS: &[[u8; 4]] = table!("qualifier_areas");

/// Lists of the places in each region, by rank.
pub(crate) static REGION_PLACES: &[[u8; 4]] = table!("region_places");
/// Lists of the districts in each region.
pub(crate) static REGION_DISTRICTS: &[[u8; 4]] = table!("region_districts");
/// Lists of the regions in each region, by name.
pub(crate) static REGION_REGIONS: &[[u8; 4]] = table!("region_regions");
/// Lists of the places in each district, by rank.
pub(crate) static DISTRICT_PLACES: &[[u8; 4]] = table!("district_places");

/// Sectors, sorted by district and digit.
pub(crate) static SECTORS: &[[u8; SectorRow::BYTES]] = table!("sectors");
/// Bounding boxes of [`SECTORS_PER_BLOCK`](crate::layout::SECTORS_PER_BLOCK) sectors each.
pub(crate) static BLOCKS: &[[u8; BoundsRow::BYTES]] = table!("blocks");
/// The body of the format GBPC3.
pub(crate) static UNITS: &[u8] = bytes!("units");
/// The region of each authority of the format GBPC3.
pub(crate) static AUTHORITIES: &[[u8; 2]] = table!("authorities");

/// The words of the grid, padded with spaces to nine bytes.
pub(crate) static WORDS: &[[u8; 9]] = table!("words");
/// Automaton (`fst::Map`) from word to number.
pub(crate) static WORD_NUMBERS: &[u8] = bytes!("word_numbers");

/// Returns the row of an entity.
pub(crate) fn entity(number: u32) -> EntityRow {
    EntityRow::read(&ENTITIES[number as usize])
}

/// Returns the members of one list. A table of lists starts with the index of the first member of each list and the end
/// of the last one; the members follow.
pub(crate) fn list(lists: &'static [[u8; 4]], number: usize) -> impl Iterator<Item = u32> + 'static {
    let at = |i: usize| u32::from_le_bytes(lists[i]) as usize;
    lists[at(number)..at(number + 1)].iter().map(|member| u32::from_le_bytes(*member))
}

/// Returns the line at this offset of `NAMES`.
pub(crate) fn name_at(at: u32) -> &'static str {
    NAMES[at as usize..].split('\n').next().unwrap_or_default()
}
