//! The places as a balanced tree that halves space along x, y and z in turn. It needs no pointers: the root of every
//! stretch of the list is its middle.

use crate::entities::Entity;
use crate::sphere::{Vector, vector};
use crate::{Result, write};

pub fn write_all(entities: &[Entity]) -> Result {
    let mut nodes: Vec<(Vector, u32)> = entities
        .iter()
        .zip(0..)
        .filter_map(|(entity, number)| {
            let Entity::Place(place) = entity else { return None };
            let (lat, lon) = place.at.degrees();
            Some((vector(lat, lon), number))
        })
        .collect();
    halve(&mut nodes, 0);
    write("tree", &nodes.iter().flat_map(|(_, number)| number.to_le_bytes()).collect::<Vec<_>>())
}

fn halve(nodes: &mut [(Vector, u32)], axis: usize) {
    if nodes.len() > 1 {
        let middle = nodes.len() / 2;
        let (left, _, right) =
            nodes.select_nth_unstable_by(middle, |(a, m), (b, n)| a[axis].total_cmp(&b[axis]).then(m.cmp(n)));
        halve(left, (axis + 1) % 3);
        halve(right, (axis + 1) % 3);
    }
}
