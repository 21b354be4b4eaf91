//! Entities, which can be found by name: places, regions that contain a place or district, districts whose main place
//! is not in the list of places, and some countries.
//!
//! They are numbered by rank, so the library sorts hits by number.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::fold::fold;
use crate::layout::{DistrictNumber, RegionNumber};
use crate::source::{DistrictRecord, NamedCountry, PlaceRecord, RegionRecord, SourceData};

/// Population that ranks a district. Districts found by name are around small towns or are parts of Dublin.
const DISTRICT_POPULATION: u32 = 1_000;

/// An entity.
#[derive(Clone, Copy)]
pub(crate) enum Entity<'a> {
    Place(&'a PlaceRecord),
    Region(RegionNumber, &'a RegionRecord),
    District(DistrictNumber, &'a DistrictRecord),
    Country(&'a NamedCountry),
}

/// Returns the entities by rank, with the population that ranks them: by population, largest first, then by name, then
/// by id. A region or country has the population of its largest place and comes after the places of that size.
pub(crate) fn rank(source: &SourceData) -> Vec<(u32, Entity<'_>)> {
    let mut largest: HashMap<RegionNumber, u32> = HashMap::new();
    let mut ranked = Vec::new();
    for place in &source.places {
        let population = place.population;
        ranked.push((population, Entity::Place(place)));
        for region in region_and_ancestors(source, place.region) {
            let largest = largest.entry(region).or_default();
            *largest = population.max(*largest);
        }
    }
    for region in source.districts.iter().flat_map(|district| region_and_ancestors(source, district.region)) {
        largest.entry(region).or_default();
    }
    for (region, number) in source.regions.iter().zip((0..).map(RegionNumber)) {
        if let Some(population) = largest.get(&number) {
            ranked.push((*population, Entity::Region(number, region)));
        }
    }
    let mut place_names = HashSet::new();
    for place in &source.places {
        let names = std::iter::once(&place.name).chain(&place.aliases);
        place_names.extend(names.map(|name| (place.country, expand_saint(&fold(name)))));
    }
    for (district, number) in source.districts.iter().zip((0..).map(DistrictNumber)) {
        if !place_names.contains(&(district.country, expand_saint(&fold(&district.place)))) {
            ranked.push((DISTRICT_POPULATION, Entity::District(number, district)));
        }
    }
    for country in &source.named_countries {
        let inside = source.places.iter().filter(|place| place.country == country.number);
        let largest = inside.map(|place| place.population).max().unwrap_or_default();
        ranked.push((largest, Entity::Country(country)));
    }
    ranked.sort_by_cached_key(|(population, entity)| {
        let (region, name, id) = match entity {
            Entity::Place(place) => (false, &place.name, place.id),
            Entity::Region(number, region) => (true, &region.name, u32::from(number.0)),
            Entity::District(number, district) => (true, &district.place, u32::from(number.0)),
            Entity::Country(country) => (true, &country.names[0], u32::from(country.number.0)),
        };
        (Reverse(*population), region, fold(name), name.clone(), id)
    });
    ranked
}

/// Returns a region and the regions that it is part of.
fn region_and_ancestors(
    source: &SourceData,
    region: Option<RegionNumber>,
) -> impl Iterator<Item = RegionNumber> {
    std::iter::successors(region, |number| source.regions[number.index()].parent)
}

/// Replaces the word "st" of a folded name by "saint".
fn expand_saint(name: &str) -> String {
    name.split(' ').map(|word| if word == "st" { "saint" } else { word }).collect::<Vec<_>>().join(" ")
}
