//! Embedded countries, regions, places, postcodes and a three-word grid.
//!
//! The crate has no dependency on actix or Diesel and makes no network calls. All tables are part of the binary and
//! read in place, so opening takes microseconds. Places and regions are ranked by population.

#![allow(clippy::cast_possible_truncation, reason = "`build/` ensures that numbers fit their columns")]
#![warn(unreachable_pub)]

mod area;
mod border;
mod coordinates;
mod country;
mod district;
mod fold;
mod grid;
mod item;
mod layout;
mod names;
mod place;
mod postcode_match;
mod postcodes;
mod query;
mod resolve;
mod search;
mod spelling;
mod sphere;
mod tables;

pub use country::{Country, CountrySet, Region, countries, country, regions};
pub use grid::{Grid, UnknownWords};
pub use item::{Hit, HitKind};
pub use resolve::{Address, ResolvedAddress};
pub use search::SearchOptions;

/// Places, regions and postcodes. Opening is cheap and allocates nothing; threads can share a gazetteer.
pub struct Gazetteer(search::SearchIndex);

impl Gazetteer {
    /// Opens the embedded gazetteer.
    pub fn open() -> Self {
        Self(search::SearchIndex::open())
    }

    /// Searches by text, by container or both (docs/api/places.md).
    ///
    /// Hits come in four groups: exact matches, names that start with the text, names with words that start with the
    /// words of the text, and similar spellings. In each group, preferred countries come first, then higher ranks. In
    /// preferred countries, names that start with the whole words of the text are exact matches too, and come first, if
    /// they have ten times the inhabitants of the largest exact match there: `Newcastle` is Newcastle upon Tyne.
    ///
    /// A region, country or postcode after a name, or a postcode before it, restricts the search. A pair of coordinates
    /// finds the point. Of an address with commas, the first part that
    /// has a match is searched; the British Isles and the preferred countries then come before all others. Without
    /// text, the hits are the contents of the container. An unknown country or container has no hits.
    pub fn search(&self, options: &SearchOptions<'_>) -> Vec<Hit> {
        self.0.search(options)
    }

    /// Returns the address of an id from [`Self::search`]. The position of a container is its centre.
    pub fn find(&self, id: &str) -> Option<ResolvedAddress> {
        if let Some(point) = id.strip_prefix("point:") {
            let (lat, lon) = coordinates::parse(point).filter(|at| coordinates::format(*at) == point)?;
            return Some(resolve::nearest(lat, lon));
        }
        item::Item::parse(id).map(resolve::resolve)
    }

    /// Returns true if the id is that of a region, a postcode district or a country.
    pub fn is_container(&self, id: &str) -> bool {
        area::Area::container(id).is_some()
    }

    /// Returns the nearest place on earth and, in Great Britain, the nearest postcode, for WGS84 degrees. The address
    /// has no country if the place is more than 50 km away.
    pub fn nearest(&self, lat: f64, lon: f64) -> ResolvedAddress {
        resolve::nearest(lat, lon)
    }
}

/// Returns true if a search text is a pair of coordinates, such as `51.9469,-3.3915`.
pub fn is_point(text: &str) -> bool {
    coordinates::parse(text).is_some()
}

/// Returns the distance in kilometres between two points (latitude and longitude in degrees) on a sphere with a radius
/// of 6,371.0088 km.
pub fn distance_km(a: (f64, f64), b: (f64, f64)) -> f64 {
    sphere::kilometres(sphere::squared_chord(&sphere::vector(a.0, a.1), &sphere::vector(b.0, b.1)))
}
