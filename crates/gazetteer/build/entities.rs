//! What can be found by its name: places, regions that something is in, and districts whose main place is not among the
//! places of their country. They are numbered in the order in which a
//! search lists them, so that the library orders by comparing numbers.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::fold::fold;
use crate::source::{District, Place, Region, Source};

/// Inhabitants as which a district counts: all those found by name are around small towns or parts of Dublin.
const IN_DISTRICT: u64 = 1_000;

#[derive(Clone, Copy)]
pub enum Entity<'a> {
    Place(&'a Place),
    Region(u16, &'a Region),
    District(u16, &'a District),
}

/// Largest first; a region counts as much as the largest place in it and comes after it. Then by name, then by id.
pub fn number(source: &Source) -> Vec<Entity<'_>> {
    let mut largest: HashMap<u16, u64> = HashMap::new();
    let mut ranked = Vec::new();
    for place in &source.places {
        let weight = u64::from(place.population);
        ranked.push((weight, Entity::Place(place)));
        for region in around(source, place.region) {
            let most = largest.entry(region).or_default();
            *most = weight.max(*most);
        }
    }
    for region in source.districts.iter().flat_map(|district| around(source, district.region)) {
        largest.entry(region).or_default();
    }
    for (region, number) in source.regions.iter().zip(0..) {
        if let Some(weight) = largest.get(&number) {
            ranked.push((*weight, Entity::Region(number, region)));
        }
    }
    let mut places = HashSet::new();
    for place in &source.places {
        let names = std::iter::once(&place.name).chain(&place.aliases);
        places.extend(names.map(|name| (place.country, saint(&fold(name)))));
    }
    for (district, number) in source.districts.iter().zip(0..) {
        if !places.contains(&(district.country, saint(&fold(&district.place)))) {
            ranked.push((IN_DISTRICT, Entity::District(number, district)));
        }
    }
    ranked.sort_by_cached_key(|(weight, entity)| {
        let (region, name, id) = match entity {
            Entity::Place(place) => (false, &place.name, place.id),
            Entity::Region(number, region) => (true, &region.name, u32::from(*number)),
            Entity::District(number, district) => (true, &district.place, u32::from(*number)),
        };
        (Reverse(*weight), region, fold(name), name.clone(), id)
    });
    ranked.into_iter().map(|(_, entity)| entity).collect()
}

/// A region and what it is part of.
fn around(source: &Source, region: Option<u16>) -> impl Iterator<Item = u16> {
    std::iter::successors(region, |number| source.regions[usize::from(*number)].parent)
}

/// A folded name with "saint" for "st", so that both are the same.
fn saint(name: &str) -> String {
    name.split(' ').map(|word| if word == "st" { "saint" } else { word }).collect::<Vec<_>>().join(" ")
}
