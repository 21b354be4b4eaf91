//! Writes the rows of entities and districts, their names, the lists of what regions and districts contain, and the
//! tree of places.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::entities::Entity;
use crate::layout::{
    Column, Coordinates, CountryNumber, DistrictRow, EntityRow, IS_COUNTRY, IS_DISTRICT, IS_REGION, IS_TOWN,
};
use crate::source::{NamedCountry, SourceData};
use crate::sphere::{Vector, vector};
use crate::{Result, write_table};

/// Population from which a place is the city of its own addresses.
const MIN_TOWN_POPULATION: u32 = 10_000;

/// Writes the tables of entities, districts and names, the tree, and all lists but those of qualifiers.
pub(crate) fn write_all(source: &SourceData, entities: &[(u32, Entity)]) -> Result {
    let mut names = NamePool::default();
    let (mut rows, mut by_id) = (Vec::new(), Vec::new());
    let mut named_countries = Vec::new();
    let mut region_places = vec![Vec::new(); source.regions.len()];
    let mut district_places = vec![Vec::new(); source.districts.len()];
    for ((population, entity), number) in entities.iter().zip(0u32..) {
        match entity {
            Entity::Place(place) => {
                let town = if place.population >= MIN_TOWN_POPULATION { IS_TOWN } else { 0 };
                let row = EntityRow {
                    id: place.id,
                    coordinates: place.coordinates,
                    population: *population,
                    name: names.offset(&place.name) | town,
                    region: place.region,
                    district: place.district,
                    country: place.country,
                };
                row.write(&mut rows);
                by_id.push((place.id, number));
                if let Some(region) = place.region {
                    region_places[region.index()].push(number);
                }
                if let Some(district) = place.district {
                    district_places[district.index()].push(number);
                }
            }
            Entity::Region(number, region) => {
                let (id, at) = (number.0, region.coordinates);
                container_row(id, at, *population, IS_REGION, region.country).write(&mut rows);
            }
            Entity::District(number, district) => {
                let (id, at) = (number.0, district.coordinates);
                container_row(id, at, *population, IS_DISTRICT, district.country).write(&mut rows);
            }
            Entity::Country(NamedCountry { number: country, coordinates, .. }) => {
                let id = u16::from(country.0);
                container_row(id, *coordinates, *population, IS_COUNTRY, *country).write(&mut rows);
                number.write(&mut named_countries);
            }
        }
    }
    by_id.sort_unstable();
    write_table("entities", &rows)?;
    write_table("by_id", &by_id.iter().flat_map(|(_, number)| number.to_le_bytes()).collect::<Vec<_>>())?;
    write_table("named_countries", &named_countries)?;
    write_table("region_places", &pack_lists(&region_places))?;
    write_table("district_places", &pack_lists(&district_places))?;
    write_containers(source, &mut names)?;
    write_tree(entities)?;
    let mut border = Vec::new();
    source.irish_border.iter().for_each(|point| point.write(&mut border));
    write_table("irish_border", &border)?;
    write_table("names", names.text.as_bytes())
}

/// Returns the entity row of a region, district or country, which refers to the row in its own table.
fn container_row(
    number: u16,
    coordinates: Coordinates,
    population: u32,
    mark: u32,
    country: CountryNumber,
) -> EntityRow {
    EntityRow {
        id: number.into(),
        coordinates,
        population,
        name: mark,
        region: None,
        district: None,
        country,
    }
}

/// Writes the districts and the lists of districts and regions in each region.
fn write_containers(source: &SourceData, names: &mut NamePool) -> Result {
    let mut rows = Vec::new();
    let mut region_districts = vec![Vec::new(); source.regions.len()];
    let mut region_regions = vec![Vec::new(); source.regions.len()];
    for (district, number) in source.districts.iter().zip(0..) {
        let row = DistrictRow {
            code: format!("{:4}", district.code).as_bytes().try_into()?,
            coordinates: district.coordinates,
            place: names.offset(&district.place),
            region: district.region,
            country: district.country,
        };
        row.write(&mut rows);
        if let Some(region) = district.region {
            region_districts[region.index()].push(number);
        }
    }
    let mut regions: Vec<_> = source.regions.iter().zip(0..).collect();
    regions.sort_by_key(|(region, _)| &region.name);
    for (region, number) in regions {
        if let Some(parent) = region.parent {
            region_regions[parent.index()].push(number);
        }
    }
    write_table("districts", &rows)?;
    write_table("region_districts", &pack_lists(&region_districts))?;
    write_table("region_regions", &pack_lists(&region_regions))
}

/// Writes `tree`: the places as a balanced k-d tree. It needs no pointers: the root of each subtree is the middle of
/// its range. The axes are x, y and z in turn.
fn write_tree(entities: &[(u32, Entity)]) -> Result {
    let mut nodes: Vec<(Vector, u32)> = entities
        .iter()
        .zip(0..)
        .filter_map(|((_, entity), number)| {
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

/// A text of distinct names, one on each line.
#[derive(Default)]
struct NamePool {
    text: String,
    offsets: HashMap<String, u32>,
}

impl NamePool {
    /// Returns the offset of the name. Adds it if it is new.
    fn offset(&mut self, name: &str) -> u32 {
        match self.offsets.entry(name.to_owned()) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let offset = self.text.len() as u32;
                self.text.push_str(name);
                self.text.push('\n');
                *entry.insert(offset)
            }
        }
    }
}

/// Packs lists of numbers: the index of the first member of each list and the end of the last one, then the members.
pub(crate) fn pack_lists(lists: &[Vec<u32>]) -> Vec<u8> {
    let mut at = lists.len() as u32 + 1;
    let mut words = vec![at];
    for list in lists {
        at += list.len() as u32;
        words.push(at);
    }
    words.extend(lists.iter().flatten());
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}
