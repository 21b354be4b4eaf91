//! Access to places: rows of `ENTITIES` that are neither regions nor districts. The nearest one is found in the k-d
//! tree that `build/tables.rs` writes.

use crate::district;
use crate::layout::{DistrictNumber, IS_TOWN};
use crate::sphere::{Vector, squared_chord, vector};
use crate::tables::{TREE, entity, name_at};

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

/// Returns the number of the place nearest to a point in degrees. Of several at the same distance, returns the largest.
pub(crate) fn nearest(lat: f64, lon: f64) -> u32 {
    nearest_of(lat, lon, |_| true)
}

/// Returns the nearest of the places that `is_candidate` accepts.
pub(crate) fn nearest_of(lat: f64, lon: f64, is_candidate: impl Fn(u32) -> bool) -> u32 {
    let mut search = NearestSearch { from: vector(lat, lon), is_candidate, best: (f64::INFINITY, 0) };
    search.visit(TREE, 0);
    search.best.1
}

struct NearestSearch<F> {
    from: Vector,
    is_candidate: F,
    /// Squared chord and number of the nearest place so far.
    best: (f64, u32),
}

impl<F: Fn(u32) -> bool> NearestSearch<F> {
    fn visit(&mut self, nodes: &[[u8; 4]], axis: usize) {
        let (left, [root, right @ ..]) = nodes.split_at(nodes.len() / 2) else { return };
        let place = u32::from_le_bytes(*root);
        let at = position(place);
        let candidate = (squared_chord(&self.from, &at), place);
        if candidate < self.best && (self.is_candidate)(place) {
            self.best = candidate;
        }
        let offset = self.from[axis] - at[axis];
        let (near, far) = if offset < 0.0 { (left, right) } else { (right, left) };
        self.visit(near, (axis + 1) % 3);
        if offset * offset <= self.best.0 {
            self.visit(far, (axis + 1) % 3);
        }
    }
}

/// Returns the position of a place.
pub(crate) fn position(place: u32) -> Vector {
    let (lat, lon) = entity(place).coordinates.degrees();
    vector(lat, lon)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_the_same_place_as_a_linear_search(lat in -90.0..=90.0, lon in -180.0..=180.0) {
            let from = vector(lat, lon);
            let all = TREE.iter().map(|place| u32::from_le_bytes(*place));
            let best = all.map(|place| (squared_chord(&from, &position(place)), place)).min_by(|a, b| a.partial_cmp(b).unwrap());
            prop_assert_eq!(nearest(lat, lon), best.unwrap().1);
        }
    }
}
