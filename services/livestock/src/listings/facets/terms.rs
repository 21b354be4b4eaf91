//! Texts as numbers: a text that many listings have is stored once and compared as a number. Texts that no listing has any
//! more are forgotten from time to time.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// No text.
pub const NONE: u32 = 0;
/// A text that no listing has.
pub const UNKNOWN: u32 = u32::MAX;

/// What listings say; numbered apart, for what is counted is as long as the first.
#[derive(Debug, Default)]
pub struct Interners {
    /// Breeds, breed types and breed societies.
    pub terms: Interner,
    pub types: TypeSets,
    /// Never forgotten: a listing stays that of its organisation.
    pub organisations: Interner,
}

/// Values by number from 1, each once.
#[derive(Debug)]
struct Numbered<T: ?Sized> {
    numbers: HashMap<Arc<T>, u32>,
    values: Vec<Arc<T>>,
}

impl<T: ?Sized> Default for Numbered<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: ?Sized + Eq + Hash> Numbered<T> {
    /// The number of a value, a new one if it was not met before.
    fn number<'a>(&mut self, value: &'a T) -> u32
    where
        Arc<T>: From<&'a T>,
    {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let value = Arc::<T>::from(value);
        self.values.push(value.clone());
        let number = u32::try_from(self.values.len()).unwrap_or(UNKNOWN);
        self.numbers.insert(value, number);
        number
    }

    fn value(&self, number: usize) -> Option<&T> {
        self.values.get(number.checked_sub(1)?).map(|value| &**value)
    }

    /// How many numbers there are, including [`NONE`].
    fn len(&self) -> usize {
        self.values.len() + 1
    }

    /// Forgets the values that are not used, and numbers the others anew. Returns the new number for each old one.
    fn retain(&mut self, used: &[bool]) -> Vec<u32> {
        let mut last = NONE;
        let next = |number: usize| {
            let is_used = number != NONE as usize && used.get(number) == Some(&true);
            last += u32::from(is_used);
            if is_used { last } else { NONE }
        };
        let new: Vec<_> = (0..self.len()).map(next).collect();
        let mut kept = new.iter().skip(1).map(|number| *number != NONE);
        self.values.retain(|_| kept.next() == Some(true));
        self.values.shrink_to_fit();
        self.numbers.retain(|_, number| {
            *number = new.get(*number as usize).copied().unwrap_or(NONE);
            *number != NONE
        });
        self.numbers.shrink_to_fit();
        new
    }
}

/// Every text that was met, by number from 1.
#[derive(Debug, Default)]
pub struct Interner(Numbered<str>);

impl Interner {
    /// The number of a text, a new one if it was not met before.
    pub fn number(&mut self, text: &str) -> u32 {
        if text.is_empty() { NONE } else { self.0.number(text) }
    }

    /// The number of a text, [`UNKNOWN`] if it was not met.
    pub fn find(&self, text: &str) -> u32 {
        self.0.numbers.get(text).copied().unwrap_or(UNKNOWN)
    }

    /// The text of a number.
    pub fn text(&self, number: usize) -> Option<&str> {
        self.0.value(number)
    }

    /// How many numbers there are, the one for no text with them.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets the texts that are not used. Returns the new number for each old one.
    pub fn retain(&mut self, used: &[bool]) -> Vec<u32> {
        self.0.retain(used)
    }
}

/// Every set of values of `properties.type`, by number from 1. A listing may have 40 kB of them: each value is stored as its
/// hash, so a set takes at most 400 bytes. The key of the hash is random, so clients cannot choose values that collide.
#[derive(Debug, Default)]
pub struct TypeSets {
    hasher: RandomState,
    sets: Numbered<[u64]>,
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
        self.sets.number(&set)
    }

    /// Whether the set of a number has this value.
    pub fn has(&self, number: usize, value: &str) -> bool {
        self.sets.value(number).is_some_and(|set| set.contains(&self.hasher.hash_one(value)))
    }

    /// How many numbers there are, including the one for no value.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Forgets the sets that are not used. Returns the new number for each old one.
    pub fn retain(&mut self, used: &[bool]) -> Vec<u32> {
        self.sets.retain(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_forgotten() {
        let mut terms = Interner::default();
        assert_eq!(["a", "b", "c", "d", "b"].map(|text| terms.number(text)), [1, 2, 3, 4, 2]);
        assert_eq!(terms.retain(&[true, false, true, false, true]), [NONE, NONE, 1, NONE, 2]);
        assert_eq!(["a", "b", "c", "d"].map(|text| terms.find(text)), [UNKNOWN, 1, UNKNOWN, 2]);
        assert_eq!([0, 1, 2, 3].map(|number| terms.text(number)), [None, Some("b"), Some("d"), None]);
        assert_eq!((terms.number("a"), terms.len()), (3, 4));
    }

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
