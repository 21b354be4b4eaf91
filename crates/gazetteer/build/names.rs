//! Writes the folded names of entities, their sorted suffixes and the set of whole names in which similar spellings are
//! searched.

use fst::SetBuilder;

use crate::entities::Entity;
use crate::fold::fold;
use crate::layout::{IS_WHOLE_NAME, SuffixRow};
use crate::{Result, write_table};

/// Writes `spellings`, `suffixes` and `folded`.
pub(crate) fn write_all(entities: &[Entity]) -> Result {
    // Each name is between line breaks, so the library finds both ends from any offset within it.
    let mut pool = String::from("\n");
    let mut suffixes: Vec<SuffixRow> = Vec::new();
    for (entity, number) in entities.iter().zip(0u32..) {
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

/// Returns all folded names of an entity. Names with the word "st" are also included with "saint", and vice versa.
fn names(entity: &Entity) -> Vec<String> {
    let (name, aliases) = match entity {
        Entity::Place(place) => (&place.name, &place.aliases[..]),
        Entity::Region(_, region) => (&region.name, &region.aliases[..]),
        Entity::District(_, district) => (&district.place, &[][..]),
    };
    let mut names: Vec<String> = std::iter::once(name).chain(aliases).map(|name| fold(name)).collect();
    // "Dublin 4" is also written "Dublin 04", as in its code.
    if let Entity::District(..) = entity
        && let Some((town, number)) = names[0].split_once(' ')
        && number.parse::<u8>().is_ok_and(|number| number < 10)
    {
        names.push(format!("{town} 0{number}"));
    }
    for i in 0..names.len() {
        for (from, to) in [("st", "saint"), ("saint", "st")] {
            let word = |word| if word == from { to } else { word };
            names.push(names[i].split(' ').map(word).collect::<Vec<_>>().join(" "));
        }
    }
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    names
}
