//! Search of the nearest place in the k-d tree that `build/tree.rs` writes.

use crate::sphere::{Vector, squared_chord, vector};
use crate::tables::{TREE, entity};

/// Returns the number of the place nearest to a point in degrees. Of several at the same distance, returns the largest.
pub(crate) fn nearest(lat: f64, lon: f64) -> u32 {
    let mut search = NearestSearch { from: vector(lat, lon), best: (f64::INFINITY, 0) };
    search.visit(TREE, 0);
    search.best.1
}

struct NearestSearch {
    from: Vector,
    /// Squared chord and number of the nearest place so far.
    best: (f64, u32),
}

impl NearestSearch {
    fn visit(&mut self, nodes: &[[u8; 4]], axis: usize) {
        let (left, [root, right @ ..]) = nodes.split_at(nodes.len() / 2) else { return };
        let place = u32::from_le_bytes(*root);
        let at = position(place);
        let candidate = (squared_chord(&self.from, &at), place);
        if candidate < self.best {
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
