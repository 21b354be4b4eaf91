//! What `build/` wrote, read where it lies. Numbers are little endian; coordinates are in units of 1e-5 degree but in
//! `SECTORS`, where they are 1e-4; `u16::MAX` is "none". "Lists" are described at [`list`].

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

/// GeoNames id, or the number of a region or district; latitude; longitude; begin in `NAMES` with the marks below; region; district
/// (16 bits each); country (8). Best first.
pub static ENTITIES: &[[u8; 21]] = table!("entities");
pub const IS_REGION: u32 = 1 << 31;
pub const IS_TOWN: u32 = 1 << 30;
pub const IS_DISTRICT: u32 = 1 << 29;
/// Places in order of their GeoNames ids.
pub static BY_ID: &[[u8; 4]] = table!("by_id");
/// Code padded to four; latitude; longitude; begin of the main place in `NAMES`; region (16 bits); country (8).
pub static DISTRICTS: &[[u8; 19]] = table!("districts");
/// Begin in `REGION_TEXTS`; latitude; longitude; parent (16 bits); country (8); months between tests (8).
pub static REGIONS: &[[u8; 16]] = table!("regions");
/// A line for each region: code, name, group and other names, parted by `|`.
pub static REGION_TEXTS: &str = include_str!(concat!(env!("OUT_DIR"), "/region_texts"));
/// Names of places as they are written, a line each.
pub static NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/names"));
/// Places, the root of each stretch in its middle, halved along x, y and z in turn.
pub static TREE: &[[u8; 4]] = table!("tree");

/// Folded names, a line each, one after another.
pub static FOLDED: &[u8] = bytes!("folded");
/// Every word's begin in `FOLDED`, in order of what follows it there, and the entity with the mark below.
pub static SUFFIXES: &[[u8; 8]] = table!("suffixes");
pub const IS_WHOLE: u32 = 1 << 31;
/// Automaton of the folded names.
pub static SPELLINGS: &[u8] = bytes!("spellings");

/// Automaton of what may follow a name, to the number of a list of areas (kind in the upper 16 bits).
pub static QUALIFIERS: &[u8] = bytes!("qualifiers");
pub static QUALIFIER_AREAS: &[[u8; 4]] = table!("qualifier_areas");

/// What is in a region (places best first, regions by name) and in a district.
pub static REGION_PLACES: &[[u8; 4]] = table!("region_places");
pub static REGION_DISTRICTS: &[[u8; 4]] = table!("region_districts");
pub static REGION_REGIONS: &[[u8; 4]] = table!("region_regions");
pub static DISTRICT_PLACES: &[[u8; 4]] = table!("district_places");

/// Sector table and units of the format GBPC3 (`data/README.md`), and the region of every authority.
pub static SECTORS: &[[u8; 26]] = table!("sectors");
/// The box around every so many sectors: least latitude and longitude, then the greatest.
pub static BLOCKS: &[[u8; 16]] = table!("blocks");
pub static UNITS: &[u8] = bytes!("units");
pub static AUTHORITIES: &[[u8; 2]] = table!("authorities");

/// The words of the grid, padded to nine, and the automaton from word to number.
pub static WORDS: &[[u8; 9]] = table!("words");
pub static WORD_NUMBERS: &[u8] = bytes!("word_numbers");

pub fn u16_at(row: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([row[at], row[at + 1]])
}

pub fn u32_at(row: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]])
}

/// Coordinates in degrees, of a latitude and a longitude that stand together.
pub fn degrees_at(row: &[u8], at: usize) -> (f64, f64) {
    let degrees = |at| f64::from(u32_at(row, at).cast_signed()) / 1e5;
    (degrees(at), degrees(at + 4))
}

pub fn some(number: u16) -> Option<u16> {
    (number != u16::MAX).then_some(number)
}

/// Members of one list: the table begins with where each list begins and the last one ends.
pub fn list(lists: &'static [[u8; 4]], number: usize) -> impl Iterator<Item = u32> + 'static {
    let at = |i: usize| u32::from_le_bytes(lists[i]) as usize;
    lists[at(number)..at(number + 1)].iter().map(|member| u32::from_le_bytes(*member))
}

/// The line that begins there.
pub fn name_at(at: u32) -> &'static str {
    NAMES[at as usize..].split('\n').next().unwrap_or_default()
}
