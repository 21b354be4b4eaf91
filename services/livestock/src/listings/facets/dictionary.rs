//! Different words with their numbers, and lists of these numbers.

use std::hash::{BuildHasher, RandomState};

use database::search::words::{begins_word, is_initial};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::listings::search::Audience;
use crate::listings::search_text::END_OF_PUBLIC_TEXT;

/// Bytes of the longest word. Texts without white space are longer.
pub(crate) const MAX_WORD_BYTES: usize = 200;

/// Different words, numbered from 0 in the order in which they were added. Each takes its length and some 15 bytes.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    /// All words, each followed by a line break.
    text: String,
    /// The positions in `text` at which words end, by number.
    ends: Vec<u32>,
    /// The numbers by word.
    numbers: HashTable<u32>,
    hasher: RandomState,
}

/// Returns the word with a number.
fn word<'a>(text: &'a str, ends: &[u32], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |end| *end as usize + 1);
    ends.get(number).and_then(|end| text.get(start..*end as usize)).unwrap_or_default()
}

impl Dictionary {
    /// Returns the bytes that a word takes in the text of the dictionary.
    pub(crate) fn bytes_of(word: &str) -> usize {
        word.len() + 1
    }

    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the word with a number.
    pub(crate) fn word(&self, number: u32) -> &str {
        word(&self.text, &self.ends, number)
    }

    /// Returns the number of a word, if the dictionary has it.
    pub(crate) fn find(&self, known: &str) -> Option<u32> {
        let Self { text, ends, numbers, hasher } = self;
        numbers.find(hasher.hash_one(known), |number| word(text, ends, *number) == known).copied()
    }

    /// Returns the number of a word. A new word gets the next number if it is not too long and there is room for it:
    /// the dictionary never has more than `max_bytes` bytes.
    pub(crate) fn intern(&mut self, new: &str, max_bytes: usize) -> Option<u32> {
        let Self { text, ends, numbers, hasher } = self;
        let entry = numbers.entry(
            hasher.hash_one(new),
            |number| word(text, ends, *number) == new,
            |number| hasher.hash_one(word(text, ends, *number)),
        );
        let vacant = match entry {
            Entry::Occupied(entry) => return Some(*entry.get()),
            Entry::Vacant(entry) => entry,
        };
        if new.len() > MAX_WORD_BYTES || text.len() + new.len() >= max_bytes {
            return None;
        }
        let (number, end) = (u32::try_from(ends.len()).ok()?, u32::try_from(text.len() + new.len()).ok()?);
        vacant.insert(number);
        text.extend([new, "\n"]);
        ends.push(end);
        Some(number)
    }

    /// Sets a bit in the entries of `marks` whose numbers are those of words that
    /// [have](database::search::words::has_word) a word of a query.
    /// Visitors do not see words that begin with [`END_OF_PUBLIC_TEXT`].
    pub(crate) fn mark_containing(&self, query: &str, audience: Audience, bit: u16, marks: &mut [u16]) {
        let (mut number, is_initial) = (0_u32, is_initial(query));
        for (at, _) in self.text.match_indices(query) {
            if is_initial && !begins_word(&self.text, at) {
                continue;
            }
            while self.ends.get(number as usize).is_some_and(|end| (*end as usize) < at) {
                number += 1;
            }
            let is_hidden = || word(&self.text, &self.ends, number).starts_with(END_OF_PUBLIC_TEXT);
            if audience == Audience::Visitors && is_hidden() {
                continue;
            }
            if let Some(mark) = marks.get_mut(number as usize) {
                *mark |= bit;
            }
        }
    }

    /// Returns the memory use in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u32>() + self.numbers.allocation_size()
    }
}

/// Before a number that takes two more units: its upper and its lower half.
const WIDE: u16 = u16::MAX;

/// The place of a list in the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    len: u16,
}

impl Span {
    /// Returns whether the list has no numbers.
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the length of the list in units of two bytes.
    pub(crate) fn units(self) -> usize {
        self.len.into()
    }
}

/// Lists of numbers, one after the other in one array: two bytes for each number, or six for numbers from 65,535 on.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Vec<u16>);

impl Numbers {
    /// Returns the length of the array in units of two bytes, with lists that are no longer used.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the length of a list in units of two bytes.
    pub(crate) fn units_of(list: &[u32]) -> usize {
        list.len() + 2 * list.iter().filter(|number| **number >= WIDE.into()).count()
    }

    /// Adds a list, unless it or the array is then too long.
    pub(crate) fn add(&mut self, list: &[u32], max_units: usize) -> Option<Span> {
        let len = u16::try_from(Self::units_of(list)).ok()?;
        let start = u32::try_from(self.0.len()).ok()?;
        if self.0.len() + usize::from(len) > max_units {
            return None;
        }
        for number in list {
            let [a, b, c, d] = number.to_be_bytes();
            let (upper, lower) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            if *number < WIDE.into() {
                self.0.push(lower);
            } else {
                self.0.extend([WIDE, upper, lower]);
            }
        }
        Some(Span { start, len })
    }

    /// Returns the numbers of a list.
    #[inline]
    pub(crate) fn list(&self, span: Span) -> impl Iterator<Item = u32> {
        let start = span.start as usize;
        let mut units = self.0.get(start..start + span.units()).unwrap_or_default().iter().copied();
        std::iter::from_fn(move || {
            let first = units.next()?;
            if first != WIDE {
                return Some(first.into());
            }
            Some(u32::from(units.next()?) << 16 | u32::from(units.next()?))
        })
    }

    /// Returns the memory use in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_have_their_numbers(lists in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..9), 1..9)) {
            let mut numbers = Numbers::default();
            let spans: Vec<_> = lists.iter().map(|list| numbers.add(list, usize::MAX).unwrap()).collect();
            for (span, list) in spans.iter().zip(&lists) {
                prop_assert_eq!(&numbers.list(*span).collect::<Vec<_>>(), list);
            }
        }
    }

    #[test]
    fn numbers_from_65_535_on_are_wide() {
        let mut numbers = Numbers::default();
        let list = [0, 65_534, 65_535, 65_536, u32::MAX];
        let span = numbers.add(&list, 11).unwrap();
        assert_eq!((span.units(), numbers.list(span).collect::<Vec<_>>()), (11, list.to_vec()));
        assert_eq!(numbers.add(&[1], 11), None);
    }

    #[test]
    fn every_word_of_the_dictionary_is_searched() {
        let mut dictionary = Dictionary::default();
        let words = ["aa", "a", "baab", "b", "caaaa"];
        assert_eq!(words.map(|word| dictionary.intern(word, 1_000)), [0, 1, 2, 3, 4].map(Some));
        assert_eq!(
            words.map(|word| dictionary.intern(word, 0)),
            [0, 1, 2, 3, 4].map(Some),
            "known words need no room"
        );
        for (part, expected) in
            [("a", [1, 1, 0, 0, 0]), ("aa", [1, 0, 1, 0, 1]), ("b", [0, 0, 1, 1, 0]), ("x", [0; 5])]
        {
            let mut marks = [0; 5];
            dictionary.mark_containing(part, Audience::Callers, 1, &mut marks);
            assert_eq!(marks, expected, "{part}");
        }
        assert_eq!(dictionary.intern(&"x".repeat(201), 1_000), None);
    }
}
