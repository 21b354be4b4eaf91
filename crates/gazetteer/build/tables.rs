//! The rows of entities and districts, their names, and what is in what.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::entities::Entity;
use crate::source::{Point, Source};
use crate::{NONE, Result, write};

/// From this population on a place is a town of its own in addresses.
const TOWN: u32 = 10_000;
/// Marks in the name's column.
const IS_REGION: u32 = 1 << 31;
const IS_TOWN: u32 = 1 << 30;
const IS_DISTRICT: u32 = 1 << 29;

pub fn write_all(source: &Source, entities: &[Entity]) -> Result {
    let mut names = Names::default();
    let (mut rows, mut by_id) = (Vec::new(), Vec::new());
    let mut region_places = vec![Vec::new(); source.regions.len()];
    let mut district_places = vec![Vec::new(); source.districts.len()];
    for (entity, number) in entities.iter().zip(0u32..) {
        match entity {
            Entity::Place(place) => {
                let town = if place.population >= TOWN { IS_TOWN } else { 0 };
                rows.extend(place.id.to_le_bytes());
                rows.extend(point(place.at));
                rows.extend((names.line(&place.name) | town).to_le_bytes());
                rows.extend(place.region.unwrap_or(NONE).to_le_bytes());
                rows.extend(place.district.unwrap_or(NONE).to_le_bytes());
                rows.push(place.country);
                by_id.push((place.id, number));
                if let Some(region) = place.region {
                    region_places[usize::from(region)].push(number);
                }
                if let Some(district) = place.district {
                    district_places[usize::from(district)].push(number);
                }
            }
            Entity::Region(number, region) => {
                rows.extend(container(*number, region.at, IS_REGION, region.country));
            }
            Entity::District(number, district) => {
                rows.extend(container(*number, district.at, IS_DISTRICT, district.country));
            }
        }
    }
    by_id.sort_unstable();
    write("entities", &rows)?;
    write("by_id", &by_id.iter().flat_map(|(_, number)| number.to_le_bytes()).collect::<Vec<_>>())?;
    write("region_places", &lists(&region_places))?;
    write("district_places", &lists(&district_places))?;
    write_containers(source, &mut names)?;
    write("names", names.text.as_bytes())
}

/// A row that says where the container's own row is.
fn container(number: u16, at: Point, mark: u32, country: u8) -> Vec<u8> {
    let none = u32::from(NONE) << 16 | u32::from(NONE);
    [&u32::from(number).to_le_bytes()[..], &point(at), &mark.to_le_bytes(), &none.to_le_bytes(), &[country]]
        .concat()
}

fn write_containers(source: &Source, names: &mut Names) -> Result {
    let mut rows = Vec::new();
    let mut region_districts = vec![Vec::new(); source.regions.len()];
    let mut region_regions = vec![Vec::new(); source.regions.len()];
    for (district, number) in source.districts.iter().zip(0..) {
        rows.extend(format!("{:4}", district.code).bytes());
        rows.extend(point(district.at));
        rows.extend(names.line(&district.place).to_le_bytes());
        rows.extend(district.region.unwrap_or(NONE).to_le_bytes());
        rows.push(district.country);
        if let Some(region) = district.region {
            region_districts[usize::from(region)].push(number);
        }
    }
    let mut regions: Vec<_> = source.regions.iter().zip(0..).collect();
    regions.sort_by_key(|(region, _)| &region.name);
    for (region, number) in regions {
        if let Some(parent) = region.parent {
            region_regions[usize::from(parent)].push(number);
        }
    }
    write("districts", &rows)?;
    write("region_districts", &lists(&region_districts))?;
    write("region_regions", &lists(&region_regions))
}

/// Latitude and longitude.
pub fn point(at: Point) -> [u8; 8] {
    (u64::from(at.lat.cast_unsigned()) | u64::from(at.lon.cast_unsigned()) << 32).to_le_bytes()
}

/// Names, each once, each ended by a line break.
#[derive(Default)]
struct Names {
    text: String,
    at: HashMap<String, u32>,
}

impl Names {
    /// Where the name begins.
    fn line(&mut self, name: &str) -> u32 {
        match self.at.entry(name.to_owned()) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let at = self.text.len() as u32;
                self.text.push_str(name);
                self.text.push('\n');
                *new.insert(at)
            }
        }
    }
}

/// Lists of numbers, one for each index: where each begins and where the last ends, then their members.
pub fn lists(lists: &[Vec<u32>]) -> Vec<u8> {
    let mut at = lists.len() as u32 + 1;
    let mut words = vec![at];
    for list in lists {
        at += list.len() as u32;
        words.push(at);
    }
    words.extend(lists.iter().flatten());
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}
