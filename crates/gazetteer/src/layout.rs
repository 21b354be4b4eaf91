//! Constants of the table layouts. `build/` writes the tables and the library reads them, both with this file.

/// The value of a 16-bit column without a number.
pub const NONE: u16 = u16::MAX;

/// Marks a region in the name column of `ENTITIES`.
pub const IS_REGION: u32 = 1 << 31;
/// Marks a place of at least 10,000 inhabitants in the name column of `ENTITIES`.
pub const IS_TOWN: u32 = 1 << 30;
/// Marks a postcode district in the name column of `ENTITIES`.
pub const IS_DISTRICT: u32 = 1 << 29;

/// Marks a suffix that is a whole name in the entity column of `SUFFIXES`.
pub const IS_WHOLE_NAME: u32 = 1 << 31;

/// Kind of a country in the members of `QUALIFIER_AREAS`. The lower 16 bits are the row number.
pub const COUNTRY_AREA: u32 = 0;
/// Kind of a region, as [`COUNTRY_AREA`].
pub const REGION_AREA: u32 = 1 << 16;
/// Kind of a district, as [`COUNTRY_AREA`].
pub const DISTRICT_AREA: u32 = 2 << 16;

/// Number of sectors that share a bounding box in `BLOCKS`. Neighbours in the table mostly are neighbours on the map.
pub const SECTORS_PER_BLOCK: usize = 32;
