//! Texts as numbers: a text that many listings have is stored once and compared as a number.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

/// No text.
pub const NONE: u32 = 0;
/// A text that no listing has.
pub const UNKNOWN: u32 = u32::MAX;

/// What listings say; numbered apart, for what is counted is as long as the first.
#[derive(Debug, Default)]
pub struct Texts {
    /// Breeds, breed types and breed societies.
    pub terms: Terms,
    pub types: TypeSets,
    pub organisations: Terms,
}

/// Every text that was met, by number from 1.
#[derive(Debug, Default)]
pub struct Terms {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Terms {
    /// The number of a text, a new one if it was not met before.
    pub fn number(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return NONE;
        }
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        let number = u32::try_from(self.texts.len()).unwrap_or(UNKNOWN);
        self.numbers.insert(text, number);
        number
    }

    /// The number of a text, [`UNKNOWN`] if it was not met.
    pub fn find(&self, text: &str) -> u32 {
        self.numbers.get(text).copied().unwrap_or(UNKNOWN)
    }

    /// The text of a number.
    pub fn text(&self, number: usize) -> Option<&str> {
        self.texts.get(number.checked_sub(1)?).map(|text| &**text)
    }

    /// How many numbers there are, the one for no text with them.
    pub fn len(&self) -> usize {
        self.texts.len() + 1
    }
}

/// Every set of values of `properties.type`, by number from 1. A listing may have 40 kB of them: each value is stored as its
/// hash, so a set takes at most 400 bytes. The key of the hash is random, so clients cannot choose values that collide.
#[derive(Debug, Default)]
pub struct TypeSets {
    hasher: RandomState,
    numbers: HashMap<Arc<[u64]>, u32>,
    sets: Vec<Arc<[u64]>>,
}

impl TypeSets {
    /// The number of a set as its column has it: a line for each value. A new number for a new set.
    pub fn number(&mut self, lines: &str) -> u32 {
        let values = lines.split('\n').filter(|value| !value.is_empty());
        let mut set: Vec<_> = values.map(|value| self.hasher.hash_one(value)).collect();
        if set.is_empty() {
            return NONE;
        }
        set.sort_unstable();
        set.dedup();
        if let Some(number) = self.numbers.get(&*set) {
            return *number;
        }
        let set: Arc<[u64]> = set.into();
        self.sets.push(set.clone());
        let number = u32::try_from(self.sets.len()).unwrap_or(UNKNOWN);
        self.numbers.insert(set, number);
        number
    }

    /// Whether the set of a number has this value.
    pub fn has(&self, number: usize, value: &str) -> bool {
        let set = number.checked_sub(1).and_then(|at| self.sets.get(at));
        set.is_some_and(|set| set.contains(&self.hasher.hash_one(value)))
    }

    /// How many numbers there are, including the one for no value.
    pub fn len(&self) -> usize {
        self.sets.len() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_its_values_whatever_their_order() {
        let mut sets = TypeSets::default();
        assert_eq!((sets.number(""), sets.len()), (NONE, 1));
        let number = sets.number("\nstore\ncalves, weaned\n");
        assert_eq!(sets.number("\ncalves, weaned\nstore\nstore\n"), number);
        assert_ne!(sets.number("\nstore\n"), number);
        assert_eq!(sets.len(), 3);
        for (value, there) in [("store", true), ("calves, weaned", true), ("calves", false), ("", false)] {
            assert_eq!(sets.has(number as usize, value), there, "{value}");
        }
        assert!(!sets.has(NONE as usize, "store") && !sets.has(UNKNOWN as usize, "store"));
    }
}
