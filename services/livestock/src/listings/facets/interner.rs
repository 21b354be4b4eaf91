//! Interned texts: a text that many listings have is stored once and compared as a number. A number is free for another
//! text when no listing has its text any more.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
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
    pub(crate) terms: Interner<str>,
    /// The sets of values of `properties.type`.
    pub(crate) types: TypeSets,
    pub(crate) organisations: Interner<str>,
}

/// Distinct values, with numbers from 1.
#[derive(Debug)]
pub(crate) struct Interner<T: ?Sized> {
    numbers: HashMap<Arc<T>, u32>,
    /// The values by number, with how often each is used. `None`: the number is free.
    values: Vec<Option<(Arc<T>, u32)>>,
    free: Vec<u32>,
}

impl<T: ?Sized> Default for Interner<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: vec![None], free: Vec::new() }
    }
}

impl<T: ?Sized + Eq + Hash> Interner<T> {
    /// Returns the number of a value that is used once more.
    fn acquire_value<'a>(&mut self, value: &'a T) -> u32
    where
        Arc<T>: From<&'a T>,
    {
        if let Some(number) = self.numbers.get(value) {
            if let Some(Some((_, uses))) = self.values.get_mut(*number as usize) {
                *uses += 1;
            }
            return *number;
        }
        let value = Arc::<T>::from(value);
        let number = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            u32::try_from(self.values.len() - 1).unwrap_or(UNKNOWN)
        });
        self.values[number as usize] = Some((value.clone(), 1));
        self.numbers.insert(value, number);
        number
    }

    /// Returns a value to the interner. Returns `true` if its number is free now.
    pub(crate) fn release(&mut self, number: u32) -> bool {
        let Some(entry) = self.values.get_mut(number as usize) else { return false };
        let Some((value, uses)) = entry else { return false };
        *uses -= 1;
        if *uses > 0 {
            return false;
        }
        self.numbers.remove(value);
        *entry = None;
        self.free.push(number);
        true
    }

    /// Returns the number of a value, or [`UNKNOWN`].
    pub(crate) fn find(&self, value: &T) -> u32 {
        self.numbers.get(value).copied().unwrap_or(UNKNOWN)
    }

    /// Returns the value with a number.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        Some(&*self.values.get(number as usize)?.as_ref()?.0)
    }

    /// Returns how many numbers there are, including [`NONE`] and free ones.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

impl Interner<str> {
    /// Returns the number of a text that is used once more.
    pub(crate) fn acquire(&mut self, text: &str) -> u32 {
        if text.is_empty() { NONE } else { self.acquire_value(text) }
    }
}

/// Distinct sets of values of `properties.type`.
///
/// The values of a listing may have 40 kB. Each value is stored as its hash, so a set takes at most 400 bytes. Hashes
/// have a random key, so clients cannot choose values that collide.
#[derive(Debug, Default)]
pub(crate) struct TypeSets {
    hasher: RandomState,
    sets: Interner<[u64]>,
}

impl TypeSets {
    /// Returns the number of the set in a column, one line for each value, that is used once more.
    pub(crate) fn acquire(&mut self, lines: &str) -> u32 {
        let values = lines.split('\n').filter(|value| !value.is_empty());
        let mut set: Vec<_> = values.map(|value| self.hasher.hash_one(value)).collect();
        if set.is_empty() {
            return NONE;
        }
        set.sort_unstable();
        set.dedup();
        self.sets.acquire_value(&set)
    }

    /// Returns a set to the interner.
    pub(crate) fn release(&mut self, number: u32) {
        self.sets.release(number);
    }

    /// Returns whether the set with a number has a value.
    pub(crate) fn contains(&self, number: u32, value: &str) -> bool {
        self.sets.get(number).is_some_and(|set| set.contains(&self.hasher.hash_one(value)))
    }

    /// Returns for each number whether its set has a value.
    pub(crate) fn having(&self, value: &str) -> Vec<bool> {
        let hash = self.hasher.hash_one(value);
        let has_it =
            |entry: &Option<(Arc<[u64]>, u32)>| entry.as_ref().is_some_and(|(set, _)| set.contains(&hash));
        self.sets.values.iter().map(has_it).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_uses_are_free_for_others() {
        let mut terms = Interner::default();
        assert_eq!(["a", "b", "c", "b", ""].map(|text| terms.acquire(text)), [1, 2, 3, 2, NONE]);
        assert_eq!([2, 1, NONE, UNKNOWN].map(|number| terms.release(number)), [false, true, false, false]);
        assert_eq!(["a", "b", "c", ""].map(|text| terms.find(text)), [UNKNOWN, 2, 3, UNKNOWN]);
        assert_eq!([0, 1, 2, 3].map(|number| terms.get(number)), [None, None, Some("b"), Some("c")]);
        assert_eq!(["d", "e"].map(|text| terms.acquire(text)), [1, 4]);
        assert_eq!((terms.get(1), terms.len()), (Some("d"), 5));
    }

    #[test]
    fn sets_ignore_order_and_repetition() {
        let mut sets = TypeSets::default();
        assert_eq!(sets.acquire(""), NONE);
        let number = sets.acquire("\nstore\ncalves, weaned\n");
        assert_eq!(sets.acquire("\ncalves, weaned\nstore\nstore\n"), number);
        assert_ne!(sets.acquire("\nstore\n"), number);
        for (value, having) in [
            ("store", [false, true, true]),
            ("calves, weaned", [false, true, false]),
            ("calves", [false; 3]),
            ("", [false; 3]),
        ] {
            assert_eq!(sets.having(value), having, "{value}");
            assert_eq!(
                [NONE, number, UNKNOWN].map(|number| sets.contains(number, value)),
                [false, having[1], false]
            );
        }
    }
}
