//! The words of all listings, in the order of the index.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use database::Id;

use super::dictionary::{Dictionary, MAX_WORD_BYTES};
use super::numbers::{Numbers, Span};
use super::shares::Shares;
use crate::listings::search::Audience;
use crate::listings::search_text::END_OF_PUBLIC_TEXT;

/// Different words of a listing. Descriptions of 200 words have fewer.
const MAX_LISTING_WORDS: usize = 200;
/// Bytes of the words of a listing that no other has. Most have one or two such words.
const MAX_NEW_BYTES: usize = 4 << 10;
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
    /// The bytes of the dictionary by organisation. A word is the organisation's whose listing had it first.
    word_shares: Shares,
    /// The units of numbers by organisation.
    unit_shares: Shares,
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
            word_shares: Shares::default(),
            unit_shares: Shares::default(),
            unused_units: 0,
            words_after_compaction: 0,
            limits,
        }
    }

    /// Inserts the words of a listing of an organisation at a position of the index. Without a text, no query matches.
    pub(crate) fn insert(&mut self, at: usize, id: Id, organisation: u32, text: Option<&str>) {
        let span = self.store(id, organisation, text);
        self.spans.insert(at, span);
    }

    /// Replaces the words of the listing at a position of the index. Returns `true` if many words are no longer used:
    /// then call [`ListingWords::compact`].
    #[must_use]
    pub(crate) fn replace(&mut self, at: usize, id: Id, organisation: u32, text: Option<&str>) -> bool {
        let span = self.store(id, organisation, text);
        self.unused_units += std::mem::replace(&mut self.spans[at], span).units();
        self.dictionary.len() > 2 * self.words_after_compaction + self.limits.unused
            || self.unused_units > self.numbers.len() / 2 + self.limits.unused
    }

    /// Stores the words of a listing. Returns none if the database must compare its text.
    fn store(&mut self, id: Id, organisation: u32, text: Option<&str>) -> Span {
        let span = self.add_words(organisation, text.unwrap_or_default());
        if span.is_some() {
            self.long_texts.remove(&id);
        } else {
            self.long_texts.insert(id);
        }
        span.unwrap_or_default()
    }

    /// Adds the different words of a text. Adds none and returns `None` if they are too many or too long, or if the
    /// organisation has no room for them.
    fn add_words(&mut self, organisation: u32, text: &str) -> Option<Span> {
        let mut words = BTreeSet::new();
        let (public, private) = text.split_once(END_OF_PUBLIC_TEXT).unwrap_or((text, ""));
        let private: Vec<_> =
            private.split_whitespace().map(|word| format!("{END_OF_PUBLIC_TEXT}{word}")).collect();
        for word in public.split_whitespace().chain(private.iter().map(String::as_str)) {
            words.insert(word);
            if words.len() > MAX_LISTING_WORDS {
                return None;
            }
        }
        let (mut list, mut new) = (Vec::with_capacity(words.len()), Vec::new());
        for word in words {
            match self.dictionary.find(word) {
                Some(number) => list.push(number),
                None if word.len() > MAX_WORD_BYTES => return None,
                None => new.push(word),
            }
        }
        let next = self.dictionary.len();
        list.extend((next..next + new.len()).filter_map(|number| u32::try_from(number).ok()));
        let bytes: usize = new.iter().map(|word| Dictionary::bytes_of(word)).sum();
        let (units, limits) = (Numbers::units_of(&list), self.limits);
        let has_room = bytes <= MAX_NEW_BYTES
            && self.word_shares.has_room(organisation, bytes, limits.dictionary_bytes)
            && self.unit_shares.has_room(organisation, units, limits.units);
        if !has_room {
            return None;
        }
        for word in new {
            self.dictionary.intern(word, limits.dictionary_bytes)?;
        }
        let span = self.numbers.add(&list, limits.units)?;
        self.word_shares.take(organisation, bytes);
        self.unit_shares.take(organisation, units);
        Some(span)
    }

    /// Removes the words that no listing has. Frequent words get the lowest numbers, which take the least memory.
    /// `organisation_of` returns the organisation of the listing at a position.
    ///
    /// Visits all words of all listings: some tenths of a second for a million listings. Runs only after thousands of
    /// changes.
    pub(crate) fn compact(&mut self, organisation_of: impl Fn(usize) -> u32) {
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
        self.count_shares(organisation_of);
    }

    /// Counts anew what each organisation takes, when all words and numbers are in use. `organisation_of` returns the
    /// organisation of the listing at a position.
    pub(crate) fn count_shares(&mut self, organisation_of: impl Fn(usize) -> u32) {
        let mut is_counted = vec![false; self.dictionary.len()];
        let (mut word_shares, mut unit_shares) = (Shares::default(), Shares::default());
        for (at, span) in self.spans.iter().enumerate() {
            let organisation = organisation_of(at);
            unit_shares.take(organisation, span.units());
            let new = |number: &u32| !std::mem::replace(&mut is_counted[*number as usize], true);
            let words = self.numbers.list(*span).filter(new).map(|number| self.dictionary.word(number));
            word_shares.take(organisation, words.map(Dictionary::bytes_of).sum());
        }
        (self.word_shares, self.unit_shares) = (word_shares, unit_shares);
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
        audience: Audience,
        long_texts: &'a HashSet<Id>,
    ) -> Option<WordFilter<'a>> {
        let mut marks = vec![0; if words.is_empty() { 0 } else { self.dictionary.len() }];
        let mut all = 0;
        for (n, word) in words.iter().enumerate() {
            // A query has at most 16 words.
            let bit = 1_u16.checked_shl(u32::try_from(n).ok()?)?;
            all |= bit;
            self.dictionary.mark_containing(word, audience, bit, &mut marks);
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

    /// Returns what organisations take of the dictionary and of the numbers.
    #[cfg(test)]
    pub(super) fn shares(&self) -> [&Shares; 2] {
        [&self.word_shares, &self.unit_shares]
    }

    /// Returns the memory use in bytes, without the ids of long texts.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.dictionary.bytes() + self.numbers.bytes() + self.spans.capacity() * size_of::<Span>()
    }
}
