//! Access to places: rows of `ENTITIES` that are neither regions nor districts.

use crate::district;
use crate::layout::{DistrictNumber, IS_TOWN};
use crate::tables::{entity, name_at};

/// Returns the name of a place.
pub(crate) fn name(place: u32) -> &'static str {
    name_at(entity(place).name & !IS_TOWN)
}

/// Returns the city of an address in this place: the place itself if it is a town, else the main place of the district.
pub(crate) fn city(place: u32, district: Option<DistrictNumber>) -> &'static str {
    district.filter(|_| !is_town(place)).map_or_else(|| name(place), district::place)
}

fn is_town(place: u32) -> bool {
    entity(place).name & IS_TOWN != 0
}
