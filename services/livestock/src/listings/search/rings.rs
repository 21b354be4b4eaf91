//! The distances within which a search for the nearest listings looks, one after the other, until a page is full.
//!
//! The first one suffices where listings are dense. What it finds tells how dense they are, and so how large the next
//! one has to be: a page costs about the same among 10,000 and a million listings.

use database::search::SortValue;

use super::{ListingSearch, ListingSortKey, Near};
use crate::listings::geo::km_of;

/// The first distance from the point, in kilometres. For a page after a cursor, the ring around the cursor's distance
/// has the same area.
const FIRST_RING_KM: f64 = 6.0;
/// The largest distance before all listings are searched, in kilometres.
const MAX_RING_KM: f64 = 300.0;
/// The next area is chosen so large that it is expected to have this many times the rows of the page.
const EXPECTED_PAGES: f64 = 3.0;
/// The smallest ratio of an area to the previous one.
const MIN_GROWTH: f64 = 4.0;
/// A ring that is not smaller than this part of the distance of the search saves too little.
const MAX_PART: f64 = 0.7;

impl ListingSearch {
    /// Returns the distance within which to look first; `None` to search all listings.
    pub(crate) fn first_ring_km(&self) -> Option<f64> {
        let is_nearest_first = self.sorting.by.key == ListingSortKey::Distance && !self.sorting.desc;
        self.useful_km(self.begin_km().filter(|_| is_nearest_first)?.hypot(FIRST_RING_KM))
    }

    /// Returns the distance within which to look next if `found` rows, fewer than fill the page, are within `km`;
    /// `None` to search all listings.
    pub(crate) fn next_ring_km(&self, km: f64, found: usize) -> Option<f64> {
        if km >= MAX_RING_KM {
            return None;
        }
        let begin = self.begin_km()?;
        let count = |rows: i64| f64::from(u32::try_from(rows).unwrap_or(u32::MAX));
        let wanted = EXPECTED_PAGES * count(self.page.fetch() + self.page.offset);
        let found = count(i64::try_from(found).unwrap_or(i64::MAX)).max(1.0);
        let area = (km * km - begin * begin) * (wanted / found).max(MIN_GROWTH);
        self.useful_km((begin * begin + area).sqrt().min(MAX_RING_KM))
    }

    /// Returns this search within a smaller distance.
    pub(crate) fn within(&self, km: f64) -> Self {
        let near = self.near.map(|near| Near { within_km: Some(km), ..near });
        Self { near, ..self.clone() }
    }

    /// Returns the distance at which the page begins, in kilometres. `None` if it begins among the listings without a
    /// location, which come last.
    fn begin_km(&self) -> Option<f64> {
        match self.page.position() {
            None => Some(0.0),
            Some((Some(SortValue::Integer(bits)), _)) => Some(km_of(f64::from_bits(bits.cast_unsigned()))),
            Some(_) => None,
        }
    }

    /// Returns the distance if it is much smaller than that of the search, and at most [`MAX_RING_KM`].
    fn useful_km(&self, km: f64) -> Option<f64> {
        let limit = self.near?.within_km.unwrap_or(f64::INFINITY);
        (km <= MAX_RING_KM && km <= MAX_PART * limit).then_some(km)
    }
}
