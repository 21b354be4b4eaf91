//! Writes the places as a balanced k-d tree. It needs no pointers: the root of each subtree is the middle of its range.
//! The axes are x, y and z in turn.

use crate::entities::Entity;
use crate::sphere::{Vector, vector};
use crate::{Result, write_table};

/// Writes `tree`.
pub(crate) fn write_all(entities: &[Entity]) -> Result {
    let mut nodes: Vec<(Vector, u32)> = entities
        .iter()
        .zip(0..)
        .filter_map(|(entity, number)| {
            let Entity::Place(place) = entity else { return None };
            let (lat, lon) = place.coordinates.degrees();
            Some((vector(lat, lon), number))
        })
        .collect();
    build_subtree(&mut nodes, 0);
    write_table("tree", &nodes.iter().flat_map(|(_, number)| number.to_le_bytes()).collect::<Vec<_>>())
}

/// Sorts a range so that its middle splits the others along the axis.
fn build_subtree(nodes: &mut [(Vector, u32)], axis: usize) {
    if nodes.len() > 1 {
        let middle = nodes.len() / 2;
        let (left, _, right) =
            nodes.select_nth_unstable_by(middle, |(a, m), (b, n)| a[axis].total_cmp(&b[axis]).then(m.cmp(n)));
        build_subtree(left, (axis + 1) % 3);
        build_subtree(right, (axis + 1) % 3);
    }
}
