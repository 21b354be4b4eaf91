//! Different texts with their numbers: a text that many listings have is stored once and compared as a number.

use std::hash::{BuildHasher, RandomState};

use database::search::words::{begins_word, is_initial};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Different texts, numbered from 0 in the order in which they were added. Each takes its length and some 20 bytes.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    /// All texts, each followed by a line break.
    text: String,
    /// The positions in `text` at which texts end, by number.
    ends: Vec<usize>,
    /// The numbers by text.
    numbers: HashTable<u32>,
    hasher: RandomState,
}

/// Returns the text with a number.
fn part<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |end| end + 1);
    ends.get(number).and_then(|end| text.get(start..*end)).unwrap_or_default()
}

impl Dictionary {
    /// Returns the number of texts.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the text with a number.
    pub(crate) fn get(&self, number: u32) -> &str {
        part(&self.text, &self.ends, number)
    }

    /// Returns the number of a text, if the dictionary has it. The empty text is never found: it stands for none.
    pub(crate) fn find(&self, known: &str) -> Option<u32> {
        let Self { text, ends, numbers, hasher } = self;
        let found = numbers.find(hasher.hash_one(known), |number| part(text, ends, *number) == known);
        found.copied().filter(|_| !known.is_empty())
    }

    /// Returns the number of a text. A new text gets the next number.
    pub(crate) fn intern(&mut self, new: &str) -> u32 {
        let Self { text, ends, numbers, hasher } = self;
        let entry = numbers.entry(
            hasher.hash_one(new),
            |number| part(text, ends, *number) == new,
            |number| hasher.hash_one(part(text, ends, *number)),
        );
        match entry {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let number = u32::try_from(ends.len()).unwrap_or(u32::MAX);
                entry.insert(number);
                ends.push(text.len() + new.len());
                text.extend([new, "\n"]);
                number
            }
        }
    }

    /// Returns the numbers of the texts that [have](database::search::words::has_word) a word, some of them repeatedly.
    pub(crate) fn having_word(&self, word: &str) -> impl Iterator<Item = u32> {
        let is_initial = is_initial(word);
        let matches = self.text.match_indices(word).map(|(at, _)| at);
        let matches = matches.filter(move |at| !is_initial || begins_word(&self.text, *at));
        let mut number = 0;
        matches.map(move |at| {
            while self.ends.get(number as usize).is_some_and(|end| *end < at) {
                number += 1;
            }
            number
        })
    }

    /// Removes the texts that are not used and renumbers the others in the order of their first use. Returns the new
    /// numbers by old ones.
    pub(crate) fn retain(&mut self, used: impl Iterator<Item = u32>) -> Vec<Option<u32>> {
        let old = std::mem::take(self);
        let mut numbers = vec![None; old.len()];
        for number in used {
            numbers[number as usize].get_or_insert_with(|| self.intern(old.get(number)));
        }
        numbers
    }

    /// Returns the memory use in bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.numbers.allocation_size()
    }
}
