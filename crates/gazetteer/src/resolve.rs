//! Addresses of items and of points.

use crate::country::region_by_number;
use crate::district;
use crate::item::Item;
use crate::{distance_km, place, postcodes};

/// Distance within which a postcode applies to a point.
const MAX_POSTCODE_DISTANCE_KM: f64 = 30.0;

/// Distance from a place within which a point is near the British Isles.
const MAX_BRITISH_ISLES_DISTANCE_KM: f64 = 30.0;

/// An address and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedAddress {
    /// The address.
    pub address: Address,
    /// Latitude in WGS84 degrees, north positive.
    pub lat: f64,
    /// Longitude in WGS84 degrees, east positive.
    pub lon: f64,
}

/// An address without a street, which the data does not have. Unknown parts are empty. The country is always known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Name of the place or region; empty for postcodes and districts.
    pub name: String,
    /// The place itself if it has at least 10,000 inhabitants, else the main place of its postcode district.
    pub city: String,
    /// Name of the county, state or other region.
    pub region: String,
    /// ISO 3166-2 code of the region.
    pub region_iso: String,
    /// Unit postcode in Great Britain; elsewhere, where known, the district or routing key.
    pub postcode: String,
    /// Name of the country in English.
    pub country_name: String,
    /// ISO 3166-1 alpha-2 code of the country.
    pub country_iso: String,
}

/// Returns the address of an item.
pub(crate) fn resolve(item: Item) -> ResolvedAddress {
    let (lat, lon) = item.degrees();
    match item {
        Item::Place(place) => at_point(lat, lon, place),
        Item::Unit(unit) => {
            let city = place::city(place::nearest(lat, lon), item.district());
            let address = Address { city: city.into(), postcode: unit.text(), ..Address::default() };
            with_region_and_country((lat, lon), item, address)
        }
        Item::District(number) => {
            let (city, postcode) = (district::place(number).into(), district::code(number).into());
            with_region_and_country((lat, lon), item, Address { city, postcode, ..Address::default() })
        }
        Item::Region(number) => {
            let region = region_by_number(number);
            let address = Address { name: region.name().into(), ..Address::default() };
            let mut resolved = with_region_and_country((lat, lon), item, address);
            // The region itself, not its parent.
            resolved.address.region = region.name().into();
            resolved.address.region_iso = region.iso().into();
            resolved
        }
    }
}

/// Returns the address of the place nearest to a point in degrees. Its position is the point.
pub(crate) fn nearest(lat: f64, lon: f64) -> ResolvedAddress {
    at_point(lat, lon, place::nearest(lat, lon))
}

/// Returns the address of a point in or near a place. In Great Britain the region is that of the nearest postcode: near
/// a border the place may be on the other side.
fn at_point(lat: f64, lon: f64, place: u32) -> ResolvedAddress {
    let item = Item::Place(place);
    let unit = item
        .district()
        .filter(|district| !postcodes::sectors(district::padded_code(*district), None).is_empty())
        .and_then(|_| postcodes::nearest(lat, lon, MAX_POSTCODE_DISTANCE_KM))
        .map(Item::Unit);
    let is_near = distance_km((lat, lon), item.degrees()) <= MAX_POSTCODE_DISTANCE_KM;
    let district = unit.or(is_near.then_some(item)).and_then(Item::district);
    let address = Address {
        name: place::name(place).into(),
        city: place::city(place, district).into(),
        postcode: unit.map_or_else(|| district.map_or("", district::code).into(), Item::text),
        ..Address::default()
    };
    with_region_and_country((lat, lon), unit.unwrap_or(item), address)
}

/// Completes an address with the region and country of `item`.
fn with_region_and_country((lat, lon): (f64, f64), item: Item, mut address: Address) -> ResolvedAddress {
    if let Some(region) = item.region().map(region_by_number) {
        (address.region, address.region_iso) = (region.name().into(), region.iso().into());
    }
    let country = item.country();
    (address.country_name, address.country_iso) = (country.name.into(), country.iso.into());
    ResolvedAddress { address, lat, lon }
}

/// Returns true if a point in degrees is in or near the British Isles.
pub(crate) fn is_near_british_isles(lat: f64, lon: f64) -> bool {
    // The bounding box excludes most of the earth without a search.
    (49.0..=61.0).contains(&lat) && (-11.0..=2.0).contains(&lon) && {
        let item = Item::Place(place::nearest(lat, lon));
        item.is_in_british_isles() && distance_km((lat, lon), item.degrees()) < MAX_BRITISH_ISLES_DISTANCE_KM
    }
}
