//! Writes the folded names of entities, their sorted suffixes and the set of whole names in which similar spellings are
//! searched.

use std::collections::HashSet;

use fst::SetBuilder;

use crate::entities::Entity;
use crate::fold::fold;
use crate::layout::{IS_WHOLE_NAME, SuffixRow};
use crate::qualifiers::county_names;
use crate::source::{PlaceRecord, SourceData};
use crate::{Result, write_table};

/// Words that are often abbreviated in names, and their abbreviations.
const ABBREVIATIONS: [(&str, &str); 4] =
    [("saint", "st"), ("great", "gt"), ("little", "lt"), ("mount", "mt")];

/// Writes `spellings`, `suffixes` and `folded`.
pub(crate) fn write_all(source: &SourceData, entities: &[(u32, Entity)]) -> Result {
    let britain = source.countries.iter().position(|row| &row[0] == "GB");
    let is_british = |place: &PlaceRecord| Some(place.country.index()) == britain;
    let british = source.places.iter().filter(|place| is_british(place));
    let british_places: HashSet<String> =
        british.flat_map(|place| place.aliases.iter().chain([&place.name])).map(|name| fold(name)).collect();
    let names = |entity: &Entity| {
        let mut names = names(entity);
        if let Entity::Region(_, region) = entity {
            // "Antrim" is the town, not the county.
            let counties = county_names(source, region).into_iter();
            names.extend(counties.filter(|name| !british_places.contains(name)));
        }
        with_variants(names)
    };
    // Each name is between line breaks, so the library finds both ends from any offset within it.
    let mut pool = String::from("\n");
    let mut suffixes: Vec<SuffixRow> = Vec::new();
    for ((_, entity), number) in entities.iter().zip(0u32..) {
        for name in names(entity) {
            let at = pool.len();
            pool.push_str(&name);
            pool.push('\n');
            suffixes.push(SuffixRow { offset: at as u32, entity: number | IS_WHOLE_NAME });
            let words = name.match_indices(' ').map(|(space, _)| at + space + 1);
            suffixes.extend(words.map(|word| SuffixRow { offset: word as u32, entity: number }));
        }
    }
    let suffix = |at: u32| pool[at as usize..].split('\n').next().unwrap_or_default();
    suffixes.sort_by_cached_key(|row| (suffix(row.offset), row.entity & !IS_WHOLE_NAME, row.offset));

    let mut spellings = SetBuilder::memory();
    let mut previous = "";
    let mut rows = Vec::new();
    for row in &suffixes {
        row.write(&mut rows);
        if row.entity & IS_WHOLE_NAME != 0 && suffix(row.offset) != previous {
            previous = suffix(row.offset);
            spellings.insert(previous)?;
        }
    }
    write_table("spellings", &spellings.into_inner()?)?;
    write_table("suffixes", &rows)?;
    write_table("folded", pool.as_bytes())
}

/// Returns the folded names of an entity.
fn names(entity: &Entity) -> Vec<String> {
    let (name, aliases) = match entity {
        Entity::Place(place) => (&place.name, &place.aliases[..]),
        Entity::Region(_, region) => (&region.name, &region.aliases[..]),
        Entity::District(_, district) => (&district.place, &[][..]),
        Entity::Country(country) => (&country.names[0], &country.names[1..]),
    };
    let mut names: Vec<String> = std::iter::once(name).chain(aliases).map(|name| fold(name)).collect();
    // "Dublin 4" is also written "Dublin 04", as in its code.
    if let Entity::District(..) = entity
        && let Some((town, number)) = names[0].split_once(' ')
        && number.parse::<u8>().is_ok_and(|number| number < 10)
    {
        names.push(format!("{town} 0{number}"));
    }
    names
}

/// Adds each name with its abbreviated words in full, and with full words abbreviated. Sorts the names.
fn with_variants(mut names: Vec<String>) -> Vec<String> {
    for i in 0..names.len() {
        for (full, short) in ABBREVIATIONS {
            for (from, to) in [(short, full), (full, short)] {
                let word = |word| if word == from { to } else { word };
                names.push(names[i].split(' ').map(word).collect::<Vec<_>>().join(" "));
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    names
}
