//! Names by which entities are found, folded: all of them one after another, every word's beginning in alphabetical
//! order of what follows it, and the set of whole names in which near spellings are looked up.

use fst::SetBuilder;

use crate::entities::Entity;
use crate::fold::fold;
use crate::{Result, write};

/// Marks a suffix that is the whole name, in the entity's column.
const WHOLE: u32 = 1 << 31;

pub fn write_all(entities: &[Entity]) -> Result {
    // A break before every name as well, so that one reads from anywhere in it to both ends.
    let mut pool = String::from("\n");
    let mut suffixes: Vec<(u32, u32)> = Vec::new();
    for (entity, number) in entities.iter().zip(0u32..) {
        for name in names(entity) {
            let at = pool.len();
            pool.push_str(&name);
            pool.push('\n');
            suffixes.push((at as u32, number | WHOLE));
            let breaks = name.match_indices(' ');
            suffixes.extend(breaks.map(|(space, _)| ((at + space + 1) as u32, number)));
        }
    }
    let suffix = |at: u32| pool[at as usize..].split('\n').next().unwrap_or_default();
    suffixes.sort_by_cached_key(|(at, number)| (suffix(*at), number & !WHOLE, *at));

    let mut spellings = SetBuilder::memory();
    let mut last = "";
    for (at, number) in &suffixes {
        if number & WHOLE != 0 && suffix(*at) != last {
            last = suffix(*at);
            spellings.insert(last)?;
        }
    }
    write("spellings", &spellings.into_inner()?)?;
    let rows = suffixes.iter().flat_map(|(at, number)| [at.to_le_bytes(), number.to_le_bytes()]);
    write("suffixes", rows.collect::<Vec<_>>().as_flattened())?;
    write("folded", pool.as_bytes())
}

/// All of an entity's names, and those with "st" once more with "saint" and the other way.
fn names(entity: &Entity) -> Vec<String> {
    let (name, aliases) = match entity {
        Entity::Place(place) => (&place.name, &place.aliases[..]),
        Entity::Region(_, region) => (&region.name, &region.aliases[..]),
        Entity::District(_, district) => (&district.place, &[][..]),
    };
    let mut names: Vec<String> = std::iter::once(name).chain(aliases).map(|name| fold(name)).collect();
    // "Dublin 04" is how the code is read.
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
