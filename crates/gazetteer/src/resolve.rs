//! Addresses of items and of points.

use crate::country::{region_and_ancestors, region_by_number, region_number};
use crate::district;
use crate::item::Item;
use crate::{border, distance_km, place, postcodes};

/// Distance within which a postcode applies to a point.
const MAX_POSTCODE_DISTANCE_KM: f64 = 30.0;

/// Distance from the nearest place within which a point is in the country of that place. Points farther away are at sea
/// or in deserts.
const MAX_COUNTRY_DISTANCE_KM: f64 = 50.0;

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
    /// Distance in kilometres from the place that the address names; `None` for regions, districts and postcodes.
    pub distance_km: Option<f64>,
}

/// An address without a street, which the data does not have. Unknown parts are empty, also the country of a point at
/// sea.
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
        Item::Country(_) => {
            let address = Address { name: item.text(), ..Address::default() };
            with_region_and_country((lat, lon), item, address)
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
    at_point(lat, lon, nearest_in_state(lat, lon))
}

/// Returns the place nearest to a point in degrees. Near the Irish border, it is in the same state as the point.
fn nearest_in_state(lat: f64, lon: f64) -> u32 {
    let northern_ireland = region_number("GB-NIR");
    let is_northern =
        |place| region_and_ancestors(Item::Place(place).region()).any(|r| Some(r) == northern_ireland);
    let is_irish = |place| Item::Place(place).country().iso == "IE";
    let place = place::nearest(lat, lon);
    if !border::is_near(lat, lon) {
        return place;
    }
    match border::is_northern(lat, lon) {
        true if is_irish(place) => place::nearest_of(lat, lon, is_northern),
        false if is_northern(place) => place::nearest_of(lat, lon, is_irish),
        _ => place,
    }
}

/// Returns the postcode near a point, or else the place, if it is near enough to be in the same country.
pub(crate) fn item_at(lat: f64, lon: f64) -> Option<Item> {
    let place = nearest_in_state(lat, lon);
    is_in_country(lat, lon, place).then(|| unit_at(lat, lon, place).unwrap_or(Item::Place(place)))
}

fn is_in_country(lat: f64, lon: f64, place: u32) -> bool {
    distance_km((lat, lon), Item::Place(place).degrees()) <= MAX_COUNTRY_DISTANCE_KM
}

/// Returns the postcode nearest to a point in or near a place of Great Britain.
fn unit_at(lat: f64, lon: f64, place: u32) -> Option<Item> {
    let district = Item::Place(place).district()?;
    let has_units = !postcodes::sectors(district::padded_code(district), None).is_empty();
    has_units.then(|| postcodes::nearest(lat, lon, MAX_POSTCODE_DISTANCE_KM)).flatten().map(Item::Unit)
}

/// Returns the address of a point in or near a place. In Great Britain the region is that of the nearest postcode: near
/// a border the place may be on the other side.
fn at_point(lat: f64, lon: f64, place: u32) -> ResolvedAddress {
    let item = Item::Place(place);
    let distance_km = distance_km((lat, lon), item.degrees());
    let name = place::name(place).into();
    if distance_km > MAX_COUNTRY_DISTANCE_KM {
        let address = Address { name, ..Address::default() };
        return ResolvedAddress { address, lat, lon, distance_km: Some(distance_km) };
    }
    let unit = unit_at(lat, lon, place);
    let is_near = distance_km <= MAX_POSTCODE_DISTANCE_KM;
    let district = unit.or(is_near.then_some(item)).and_then(Item::district);
    let address = Address {
        name,
        city: place::city(place, district).into(),
        postcode: unit.map_or_else(|| district.map_or("", district::code).into(), Item::text),
        ..Address::default()
    };
    let resolved = with_region_and_country((lat, lon), unit.unwrap_or(item), address);
    ResolvedAddress { distance_km: Some(distance_km), ..resolved }
}

/// Completes an address with the region and country of `item`.
fn with_region_and_country((lat, lon): (f64, f64), item: Item, mut address: Address) -> ResolvedAddress {
    if let Some(region) = item.region().map(region_by_number) {
        (address.region, address.region_iso) = (region.name().into(), region.iso().into());
    }
    let country = item.country();
    (address.country_name, address.country_iso) = (country.name.into(), country.iso.into());
    ResolvedAddress { address, lat, lon, distance_km: None }
}

/// Returns true if a point in degrees is in or near the British Isles.
pub(crate) fn is_near_british_isles(lat: f64, lon: f64) -> bool {
    // The bounding box excludes most of the earth without a search.
    (49.0..=61.0).contains(&lat) && (-11.0..=2.0).contains(&lon) && {
        let item = Item::Place(place::nearest(lat, lon));
        item.is_in_british_isles() && distance_km((lat, lon), item.degrees()) < MAX_BRITISH_ISLES_DISTANCE_KM
    }
}
