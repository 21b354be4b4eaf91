//! Access to places: rows of `ENTITIES` that are neither regions nor districts.

use crate::district;
use crate::layout::IS_TOWN;
use crate::tables::{ENTITIES, name_at, u32_at};

/// Returns the name of a place.
pub fn name(place: u32) -> &'static str {
    name_at(u32_at(&ENTITIES[place as usize], 12) & !IS_TOWN)
}

/// Returns the city of an address in this place: the place itself if it is a town, else the main place of the district.
pub fn city(place: u32, district: Option<u16>) -> &'static str {
    district.filter(|_| !is_town(place)).map_or_else(|| name(place), district::place)
}

fn is_town(place: u32) -> bool {
    u32_at(&ENTITIES[place as usize], 12) & IS_TOWN != 0
}
