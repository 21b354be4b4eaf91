//! Embedded countries, regions, places, postcodes and the three-word grid: a library without actix or diesel, and
//! without network. Everything is read from tables that are part of the program, so opening costs nothing.
//!
//! Places and regions are ranked by population.

// Columns of the tables are as narrow as what `build/` put into them.
#![allow(clippy::cast_possible_truncation)]

mod area;
mod country;
mod district;
mod fold;
mod grid;
mod item;
mod names;
mod postcode_match;
mod postcodes;
mod query;
mod resolved_address;
mod search;
mod spelling;
mod sphere;
mod tables;
mod tree;

pub use country::{Country, CountrySet, Region, countries, country, regions};
pub use grid::{Grid, Unknown};
pub use resolved_address::{Address, ResolvedAddress};
pub use search::{Hit, Kind, Search};

/// Places, regions and postcodes. Cheap to open, costs no memory of its own, is shared between threads.
pub struct Gazetteer(search::Index);

impl Gazetteer {
    /// Ready at once.
    pub fn open() -> Self {
        Self(search::Index::open())
    }

    /// Exact matches, then what begins so, then what has words that begin so, then near spellings; in each the preferred
    /// countries come first, and then the largest.
    /// A region, country or postcode after a name narrows it. Of an address, the first part that names something is taken;
    /// then the British Isles and the preferred countries come first. Without text, what is in the container.
    /// Returns nothing for an unknown country or container.
    pub fn search(&self, search: &Search<'_>) -> Vec<Hit> {
        self.0.search(search)
    }

    /// The full entry of an id that [`Self::search`] gave, containers included: they lie at their centre.
    pub fn find(&self, id: &str) -> Option<ResolvedAddress> {
        item::Item::parse(id).map(resolved_address::of)
    }

    /// Whether the id is one of a region or a postcode district.
    pub fn is_container(&self, id: &str) -> bool {
        area::Area::container(id).is_some()
    }

    /// The nearest place on earth and, in Great Britain, the nearest postcode, for WGS84 degrees.
    pub fn nearest(&self, lat: f64, lon: f64) -> ResolvedAddress {
        resolved_address::nearest(lat, lon)
    }
}

/// Kilometres between two points (latitude and longitude in degrees) on a sphere of 6,371.0088 km.
pub fn distance_km(a: (f64, f64), b: (f64, f64)) -> f64 {
    sphere::kilometres(sphere::chord2(&sphere::vector(a.0, a.1), &sphere::vector(b.0, b.1)))
}
