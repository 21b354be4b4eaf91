//! The full entry of what was found, and what is at a point.

use crate::country::region_numbered;
use crate::district;
use crate::item::{Item, is_town, place_name};
use crate::{distance_km, postcodes, tree};

/// A postcode farther off says nothing of a point.
const POSTCODE_WITHIN_KM: f64 = 30.0;

/// From farther off a place in the British Isles is not near.
const HOME_WITHIN_KM: f64 = 30.0;

/// An address and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedAddress {
    /// What is there.
    pub address: Address,
    /// WGS84 degrees, north positive.
    pub lat: f64,
    /// WGS84 degrees, east positive.
    pub lon: f64,
}

/// As much of an address as the data knows: empty is unknown; the country is always there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The place or region; empty for postcodes and districts.
    pub name: String,
    /// Always empty, as the next two: the data has no streets.
    pub line1: String,
    /// See `line1`.
    pub line2: String,
    /// See `line1`.
    pub line3: String,
    /// The place itself from 10,000 inhabitants on, else the main place of its postcode district.
    pub city: String,
    /// County, state, …
    pub region: String,
    /// ISO 3166-2.
    pub region_iso: String,
    /// Unit postcode in Great Britain; elsewhere, where known, the district or routing key.
    pub postcode: String,
    /// In English.
    pub country_name: String,
    /// ISO 3166-1 alpha-2.
    pub country_iso: String,
}

/// The town in which a place is for the post.
pub fn city(place: u32, district: Option<u16>) -> &'static str {
    district.filter(|_| !is_town(place)).map_or_else(|| place_name(place), district::place)
}

/// The entry of an item.
pub fn of(item: Item) -> ResolvedAddress {
    let (lat, lon) = item.degrees();
    match item {
        Item::Place(place) => at(lat, lon, place),
        Item::Unit(unit) => {
            let city = city(tree::nearest(lat, lon), item.district());
            spot((lat, lon), item, Address { city: city.into(), postcode: unit.text(), ..Address::default() })
        }
        Item::District(number) => {
            let (city, postcode) = (district::place(number).into(), district::code(number).into());
            spot((lat, lon), item, Address { city, postcode, ..Address::default() })
        }
        Item::Region(number) => {
            let region = region_numbered(number);
            let mut spot =
                spot((lat, lon), item, Address { name: region.name().into(), ..Address::default() });
            (spot.address.region, spot.address.region_iso) = (region.name().into(), region.iso().into());
            spot
        }
    }
}

/// What is nearest to a point; the coordinates are the point's own.
pub fn nearest(lat: f64, lon: f64) -> ResolvedAddress {
    at(lat, lon, tree::nearest(lat, lon))
}

/// A place as it is from a point in or near it. In Great Britain the nearest postcode says which region the point is in:
/// on a border the place may be on the other side.
fn at(lat: f64, lon: f64, place: u32) -> ResolvedAddress {
    let item = Item::Place(place);
    let unit = item
        .district()
        .filter(|district| !postcodes::sectors(district::padded_code(*district), None).is_empty())
        .and_then(|_| postcodes::nearest(lat, lon, POSTCODE_WITHIN_KM))
        .map(Item::Unit);
    let is_near = distance_km((lat, lon), item.degrees()) <= POSTCODE_WITHIN_KM;
    let district = unit.or(is_near.then_some(item)).and_then(Item::district);
    let address = Address {
        name: place_name(place).into(),
        city: city(place, district).into(),
        postcode: unit.map_or_else(|| district.map_or("", district::code).into(), Item::text),
        ..Address::default()
    };
    spot((lat, lon), unit.unwrap_or(item), address)
}

/// Fills in region and country, which are those of `item`.
fn spot((lat, lon): (f64, f64), item: Item, mut address: Address) -> ResolvedAddress {
    if let Some(region) = item.region().map(region_numbered) {
        (address.region, address.region_iso) = (region.name().into(), region.iso().into());
    }
    let country = item.country();
    (address.country_name, address.country_iso) = (country.name.into(), country.iso.into());
    ResolvedAddress { address, lat, lon }
}

/// Whether a point is in or near the British Isles.
pub fn is_near_home(lat: f64, lon: f64) -> bool {
    // A box around them first: it rules nearly all of the earth out at once.
    (49.0..=61.0).contains(&lat) && (-11.0..=2.0).contains(&lon) && {
        let item = Item::Place(tree::nearest(lat, lon));
        item.is_home() && distance_km((lat, lon), item.degrees()) < HOME_WITHIN_KM
    }
}
