//! The words of all listings, in the order of the index.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use database::Id;

use super::dictionary::Dictionary;
use super::numbers::{Numbers, Span};

/// Different words of a listing. Descriptions of 200 words have fewer.
const MAX_LISTING_WORDS: usize = 200;
/// Bytes of all different words.
const MAX_DICTIONARY_BYTES: usize = 32 << 20;
/// Units of two bytes for the numbers of the words of all listings: 96 MiB.
const MAX_UNITS: usize = 48 << 20;
/// The words are stored anew when those that are no longer used exceed those in use by this number.
const MAX_UNUSED: usize = 100_000;

/// The words of all listings.
#[derive(Debug)]
pub(crate) struct ListingWords {
    dictionary: Dictionary,
    numbers: Numbers,
    /// The words of each listing; none if the database compares its text.
    spans: Vec<Span>,
    /// The listings whose texts the database compares.
    long_texts: BTreeSet<Id>,
    /// Units that no listing uses any more.
    unused_units: usize,
    /// The number of words after the last call of [`ListingWords::compact`].
    words_after_compaction: usize,
    limits: Limits,
}

/// Limits of the memory use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) dictionary_bytes: usize,
    pub(super) units: usize,
    pub(super) unused: usize,
}

impl Default for ListingWords {
    fn default() -> Self {
        let (dictionary_bytes, units, unused) = (MAX_DICTIONARY_BYTES, MAX_UNITS, MAX_UNUSED);
        Self::with_limits(Limits { dictionary_bytes, units, unused })
    }
}

/// The words of a query, as marks of the words of listings that contain them.
#[derive(Debug)]
pub(crate) struct WordFilter<'a> {
    words: &'a ListingWords,
    /// By number of word of a listing: one bit for each word of the query that it contains.
    marks: Vec<u16>,
    /// The bits of all words of the query.
    all: u16,
    /// The listings with long texts that have all words of the query.
    long_texts: &'a HashSet<Id>,
}

impl WordFilter<'_> {
    /// Returns whether the listing at a position of the index has all words of the query.
    #[inline]
    pub(crate) fn passes(&self, at: usize, id: Id) -> bool {
        let span = self.words.spans[at];
        if span.is_empty() {
            return self.long_texts.contains(&id);
        }
        let marks = self.words.numbers.list(span).map(|number| self.marks[number as usize]);
        marks.fold(0, |found, mark| found | mark) == self.all
    }
}

impl ListingWords {
    /// Creates an empty list.
    pub(super) fn with_limits(limits: Limits) -> Self {
        Self {
            dictionary: Dictionary::default(),
            numbers: Numbers::default(),
            spans: Vec::new(),
            long_texts: BTreeSet::new(),
            unused_units: 0,
            words_after_compaction: 0,
            limits,
        }
    }

    /// Inserts the words of a listing at a position of the index. Without a text, no query matches.
    pub(crate) fn insert(&mut self, at: usize, id: Id, text: Option<&str>) {
        let span = self.store(id, text);
        self.spans.insert(at, span);
    }

    /// Replaces the words of the listing at a position of the index.
    pub(crate) fn replace(&mut self, at: usize, id: Id, text: Option<&str>) {
        let span = self.store(id, text);
        self.unused_units += std::mem::replace(&mut self.spans[at], span).units();
        let has_unused_words = self.dictionary.len() > 2 * self.words_after_compaction + self.limits.unused;
        if has_unused_words || self.unused_units > self.numbers.len() / 2 + self.limits.unused {
            self.compact();
        }
    }

    /// Stores the words of a listing. Returns none if the database must compare its text.
    fn store(&mut self, id: Id, text: Option<&str>) -> Span {
        let list = self.numbers_of(text.unwrap_or_default());
        let span = list.and_then(|list| self.numbers.add(&list, self.limits.units));
        if span.is_some() {
            self.long_texts.remove(&id);
        } else {
            self.long_texts.insert(id);
        }
        span.unwrap_or_default()
    }

    /// Returns the numbers of the different words of a text, or `None` if they are too many or there is no room.
    fn numbers_of(&mut self, text: &str) -> Option<Vec<u32>> {
        let words: BTreeSet<_> = text.split_whitespace().collect();
        if words.len() > MAX_LISTING_WORDS {
            return None;
        }
        words.into_iter().map(|word| self.dictionary.intern(word, self.limits.dictionary_bytes)).collect()
    }

    /// Removes the words that no listing has. Frequent words get the lowest numbers, which take the least memory.
    ///
    /// Visits all words of all listings: some tenths of a second for a million listings. Runs only after thousands of
    /// changes.
    pub(crate) fn compact(&mut self) {
        let mut uses = vec![0_u32; self.dictionary.len()];
        for span in &self.spans {
            self.numbers.list(*span).for_each(|number| uses[number as usize] += 1);
        }
        let mut by_uses: Vec<_> = (0..).zip(&uses).filter(|(_, uses)| **uses > 0).collect();
        by_uses.sort_by_key(|(_, uses)| Reverse(**uses));
        let mut dictionary = Dictionary::default();
        let mut renumbered = vec![0; uses.len()];
        for (old, _) in by_uses {
            let new = dictionary.intern(self.dictionary.word(old), self.limits.dictionary_bytes);
            renumbered[old as usize] = new.unwrap_or_default();
        }
        let mut numbers = Numbers::default();
        for span in &mut self.spans {
            let list: Vec<_> = self.numbers.list(*span).map(|number| renumbered[number as usize]).collect();
            *span = numbers.add(&list, usize::MAX).unwrap_or_default();
        }
        self.words_after_compaction = dictionary.len();
        (self.dictionary, self.numbers, self.unused_units) = (dictionary, numbers, 0);
    }

    /// Returns the listings whose texts the database must compare.
    pub(crate) fn long_texts(&self) -> &BTreeSet<Id> {
        &self.long_texts
    }

    /// Compiles the words of a query. `long_texts` are those of [`ListingWords::long_texts`] that have all of them.
    /// `None` without words.
    pub(crate) fn filter<'a>(
        &'a self,
        words: &[String],
        long_texts: &'a HashSet<Id>,
    ) -> Option<WordFilter<'a>> {
        let mut marks = vec![0; if words.is_empty() { 0 } else { self.dictionary.len() }];
        let mut all = 0;
        for (n, word) in words.iter().enumerate() {
            // A query has at most 16 words.
            let bit = 1_u16.checked_shl(u32::try_from(n).ok()?)?;
            all |= bit;
            self.dictionary.mark_containing(word, bit, &mut marks);
        }
        (all != 0).then_some(WordFilter { words: self, marks, all, long_texts })
    }

    /// Returns all different words in the order of their numbers.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.dictionary.words()
    }

    /// Returns the numbers of the words of the listing at a position of the index; `None` if the database compares its
    /// text.
    pub(crate) fn numbers_at(&self, at: usize, id: Id) -> Option<Vec<u32>> {
        (!self.long_texts.contains(&id)).then(|| self.numbers.list(self.spans[at]).collect())
    }

    /// Adds a word with the next number. Returns `false` if that is not possible.
    pub(crate) fn add_word(&mut self, word: &str) -> bool {
        let next = self.dictionary.len();
        if word.is_empty() || word.contains(char::is_whitespace) {
            return false;
        }
        let number = self.dictionary.intern(word, self.limits.dictionary_bytes);
        self.words_after_compaction = self.dictionary.len();
        number.is_some_and(|number| number as usize == next)
    }

    /// Adds the listing after the last one, by the numbers of its words. Returns `false` if a word is unknown or there
    /// is no room.
    pub(crate) fn add_listing(&mut self, id: Id, numbers: Option<&[u32]>) -> bool {
        let Some(list) = numbers else {
            self.long_texts.insert(id);
            self.spans.push(Span::default());
            return true;
        };
        let is_known = list.iter().all(|number| (*number as usize) < self.dictionary.len());
        let span = if is_known { self.numbers.add(list, self.limits.units) } else { None };
        self.spans.push(span.unwrap_or_default());
        span.is_some()
    }

    /// Returns the memory use in bytes, without the ids of long texts.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.dictionary.bytes() + self.numbers.bytes() + self.spans.capacity() * size_of::<Span>()
    }
}
