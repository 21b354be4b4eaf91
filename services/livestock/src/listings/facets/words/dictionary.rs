//! Different words with their numbers.

use std::hash::{BuildHasher, RandomState};

use database::search::words::{begins_word, is_initial};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::listings::search::Audience;
use crate::listings::search_text::END_OF_PUBLIC_TEXT;

/// Bytes of the longest word. Texts without white space are longer.
pub(super) const MAX_WORD_BYTES: usize = 200;

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

    /// Returns all words in the order of their numbers.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split_terminator('\n')
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
