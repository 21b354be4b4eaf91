//! The nearest place, by the tree that `build/tree.rs` planted.

use crate::sphere::{Vector, chord2, vector};
use crate::tables::{ENTITIES, TREE, degrees_at};

/// The place nearest to a point; of several as near the largest.
pub fn nearest(lat: f64, lon: f64) -> u32 {
    let mut search = Search { from: vector(lat, lon), best: (f64::INFINITY, 0) };
    search.visit(TREE, 0);
    search.best.1
}

struct Search {
    from: Vector,
    /// Squared chord and number.
    best: (f64, u32),
}

impl Search {
    fn visit(&mut self, nodes: &[[u8; 4]], axis: usize) {
        let (left, [root, right @ ..]) = nodes.split_at(nodes.len() / 2) else { return };
        let place = u32::from_le_bytes(*root);
        let at = position(place);
        let found = (chord2(&self.from, &at), place);
        if found < self.best {
            self.best = found;
        }
        let beyond = self.from[axis] - at[axis];
        let (near, far) = if beyond < 0.0 { (left, right) } else { (right, left) };
        self.visit(near, (axis + 1) % 3);
        if beyond * beyond <= self.best.0 {
            self.visit(far, (axis + 1) % 3);
        }
    }
}

pub fn position(place: u32) -> Vector {
    let (lat, lon) = degrees_at(&ENTITIES[place as usize], 4);
    vector(lat, lon)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_by_comparing_all(lat in -90.0..=90.0, lon in -180.0..=180.0) {
            let from = vector(lat, lon);
            let all = TREE.iter().map(|place| u32::from_le_bytes(*place));
            let best = all.map(|place| (chord2(&from, &position(place)), place)).min_by(|a, b| a.partial_cmp(b).unwrap());
            prop_assert_eq!(nearest(lat, lon), best.unwrap().1);
        }
    }
}
