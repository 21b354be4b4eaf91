//! Interned texts: a text that many listings have is stored once and compared as a number. Texts that no listing has
//! any more are removed from time to time.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The number of an absent or empty text.
pub(crate) const NONE: u32 = 0;
/// The number that stands for a text that was not interned.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// The texts of all listings. Terms are numbered apart from the others, because tables of counts are as long as the
/// highest number of a term.
#[derive(Debug, Default)]
pub(crate) struct Interners {
    /// Breeds, breed types and breed societies.
    pub(crate) terms: Interner,
    /// The sets of values of `properties.type`.
    pub(crate) types: TypeSets,
    /// Never removed, because a listing always belongs to the same organisation.
    pub(crate) organisations: Interner,
}

/// Distinct values, numbered from 1.
#[derive(Debug)]
struct NumberedValues<T: ?Sized> {
    numbers: HashMap<Arc<T>, u32>,
    values: Vec<Arc<T>>,
}

impl<T: ?Sized> Default for NumberedValues<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: ?Sized + Eq + Hash> NumberedValues<T> {
    /// Returns the number of a value. A new value gets a new number.
    fn intern<'a>(&mut self, value: &'a T) -> u32
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

    /// Returns how many numbers are in use, including [`NONE`].
    fn len(&self) -> usize {
        self.values.len() + 1
    }

    /// Removes the unused values and renumbers the others. Returns the new numbers by old number.
    fn retain(&mut self, used: &[bool]) -> Vec<u32> {
        let mut last = NONE;
        let next = |number: usize| {
            let is_used = number != NONE as usize && used.get(number) == Some(&true);
            last += u32::from(is_used);
            if is_used { last } else { NONE }
        };
        let new: Vec<_> = (0..self.len()).map(next).collect();
        let mut retained = new.iter().skip(1).map(|number| *number != NONE);
        self.values.retain(|_| retained.next() == Some(true));
        self.values.shrink_to_fit();
        self.numbers.retain(|_, number| {
            *number = new.get(*number as usize).copied().unwrap_or(NONE);
            *number != NONE
        });
        self.numbers.shrink_to_fit();
        new
    }
}

/// Distinct texts, numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct Interner(NumberedValues<str>);

impl Interner {
    /// Returns the number of a text. A new text gets a new number.
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        if text.is_empty() { NONE } else { self.0.intern(text) }
    }

    /// Returns the number of a text, or [`UNKNOWN`].
    pub(crate) fn find(&self, text: &str) -> u32 {
        self.0.numbers.get(text).copied().unwrap_or(UNKNOWN)
    }

    /// Returns the text with a number.
    pub(crate) fn text(&self, number: usize) -> Option<&str> {
        self.0.value(number)
    }

    /// Adds a text with the next number. Returns `false` if the text is empty or has a number already.
    pub(crate) fn add_new(&mut self, text: &str) -> bool {
        let next = self.len();
        self.intern(text) as usize == next
    }

    /// Returns all texts in the order of their numbers.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.values.iter().map(|text| &**text)
    }

    /// Returns how many numbers are in use, including [`NONE`].
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes the unused texts and renumbers the others. Returns the new numbers by old number.
    pub(crate) fn retain(&mut self, used: &[bool]) -> Vec<u32> {
        self.0.retain(used)
    }
}

/// Distinct sets of values of `properties.type`, numbered from 1.
///
/// The values of a listing may have 40 kB. Each value is stored as its hash, so a set takes at most 400 bytes. Every
/// hash begins with a random key, so clients cannot choose values that collide.
#[derive(Debug)]
pub(crate) struct TypeSets {
    key: [u64; 2],
    sets: NumberedValues<[u64]>,
}

impl Default for TypeSets {
    fn default() -> Self {
        let random = RandomState::new();
        Self { key: [random.hash_one(0), random.hash_one(1)], sets: NumberedValues::default() }
    }
}

impl TypeSets {
    /// Returns the number of the set in a column: one line for each value. A new set gets a new number.
    pub(crate) fn intern(&mut self, lines: &str) -> u32 {
        let values = lines.split('\n').filter(|value| !value.is_empty());
        let mut set: Vec<_> = values.map(|value| hash(self.key, value)).collect();
        if set.is_empty() {
            return NONE;
        }
        set.sort_unstable();
        set.dedup();
        self.sets.intern(&set)
    }

    /// Returns whether the set with a number has a value.
    pub(crate) fn contains(&self, number: usize, value: &str) -> bool {
        self.sets.value(number).is_some_and(|set| set.contains(&hash(self.key, value)))
    }

    /// Returns the key of the hashes.
    pub(crate) fn key(&self) -> [u64; 2] {
        self.key
    }

    /// Replaces the key of the hashes. Returns `false` if there are sets already.
    pub(crate) fn set_key(&mut self, key: [u64; 2]) -> bool {
        self.key = key;
        self.sets.values.is_empty()
    }

    /// Adds a set of hashes with the next number. Returns `false` if the set is empty, not in ascending order, or has a
    /// number already.
    pub(crate) fn add_new(&mut self, set: &[u64]) -> bool {
        let next = self.len();
        !set.is_empty() && set.is_sorted_by(|a, b| a < b) && self.sets.intern(set) as usize == next
    }

    /// Returns the hashes of all sets in the order of their numbers.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &[u64]> {
        self.sets.values.iter().map(|set| &**set)
    }

    /// Returns a number that differs if another version of the hash function gives other hashes.
    pub(crate) fn hash_version() -> u64 {
        hash([0, 1], "type")
    }

    /// Returns how many numbers are in use, including [`NONE`].
    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// Removes the unused sets and renumbers the others. Returns the new numbers by old number.
    pub(crate) fn retain(&mut self, used: &[bool]) -> Vec<u32> {
        self.sets.retain(used)
    }
}

/// Hashes a value after a key. `DefaultHasher` alone gives the same hashes in every process.
fn hash(key: [u64; 2], value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, value).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retain_removes_unused_texts_and_renumbers_the_others() {
        let mut terms = Interner::default();
        assert_eq!(["a", "b", "c", "d", "b"].map(|text| terms.intern(text)), [1, 2, 3, 4, 2]);
        assert_eq!(terms.retain(&[true, false, true, false, true]), [NONE, NONE, 1, NONE, 2]);
        assert_eq!(["a", "b", "c", "d"].map(|text| terms.find(text)), [UNKNOWN, 1, UNKNOWN, 2]);
        assert_eq!([0, 1, 2, 3].map(|number| terms.text(number)), [None, Some("b"), Some("d"), None]);
        assert_eq!((terms.intern("a"), terms.len()), (3, 4));
    }

    #[test]
    fn sets_ignore_order_and_repetition() {
        let mut sets = TypeSets::default();
        assert_eq!((sets.intern(""), sets.len()), (NONE, 1));
        let number = sets.intern("\nstore\ncalves, weaned\n");
        assert_eq!(sets.intern("\ncalves, weaned\nstore\nstore\n"), number);
        assert_ne!(sets.intern("\nstore\n"), number);
        assert_eq!(sets.len(), 3);
        for (value, there) in [("store", true), ("calves, weaned", true), ("calves", false), ("", false)] {
            assert_eq!(sets.contains(number as usize, value), there, "{value}");
        }
        assert!(!sets.contains(NONE as usize, "store") && !sets.contains(UNKNOWN as usize, "store"));
    }
}
