//! The words of listings, so that facets of a free-text query are counted in memory: the database would need more than
//! 0.1 s for a word that many of 100,000 listings have.
//!
//! A word of a query occurs in a text exactly if it occurs in one of the parts between white space. Each different
//! part is stored once, in a [`Dictionary`], and a listing has the numbers of its parts ([`ListingWords`]). A query
//! looks for its words in the dictionary, and then for the numbers of the found parts in each listing.
//!
//! Memory is limited: the words of listings with very many, very long or very many new ones, and of those for which
//! their organisation has no room, are not stored. The database compares their texts.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use database::Id;

use super::dictionary::{Dictionary, MAX_WORD_BYTES, Numbers, Span};
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
/// The words are stored again, without the unused ones, when there are this many more unused words than used ones.
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
struct Limits {
    dictionary_bytes: usize,
    units: usize,
    unused: usize,
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
    fn with_limits(limits: Limits) -> Self {
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
        (self.word_shares, self.unit_shares) = (Shares::default(), Shares::default());
        let mut is_counted = vec![false; self.dictionary.len()];
        for (at, span) in self.spans.iter().enumerate() {
            let organisation = organisation_of(at);
            self.unit_shares.take(organisation, span.units());
            let new = |number: &u32| !std::mem::replace(&mut is_counted[*number as usize], true);
            let words = self.numbers.list(*span).filter(new).map(|number| self.dictionary.word(number));
            self.word_shares.take(organisation, words.map(Dictionary::bytes_of).sum());
        }
    }

    /// Records that all words are in use, after all listings were inserted.
    pub(crate) fn finish_inserting(&mut self) {
        self.words_after_compaction = self.dictionary.len();
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

    /// Returns the memory use in bytes, without the ids of long texts.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.dictionary.bytes() + self.numbers.bytes() + self.spans.capacity() * size_of::<Span>()
    }
}

/// An organisation may take this many times the room that is left.
const MAX_PER_UNIT_LEFT: usize = 3;

/// The room that organisations take. One of them alone takes at most three quarters of it, and none takes the last of
/// it: an organisation that stores very much leaves room for the others.
#[derive(Debug, Default)]
struct Shares {
    /// By number of the organisation.
    taken: HashMap<u32, usize>,
    total: usize,
}

impl Shares {
    /// Returns whether an organisation may take this much more of the whole room.
    fn has_room(&self, organisation: u32, more: usize, room: usize) -> bool {
        let taken = self.taken.get(&organisation).copied().unwrap_or_default() + more;
        let left = room.checked_sub(self.total + more);
        more == 0 || left.is_some_and(|left| taken <= left.saturating_mul(MAX_PER_UNIT_LEFT))
    }

    /// Adds to the room that an organisation takes.
    fn take(&mut self, organisation: u32, more: usize) {
        *self.taken.entry(organisation).or_default() += more;
        self.total += more;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::listings::facets::tests::id;
    use crate::listings::search_text::has_all_words;

    const SMALL: Limits = Limits { dictionary_bytes: 60, units: 80, unused: 5 };
    const LARGE: Limits = Limits { dictionary_bytes: 1 << 30, units: 1 << 30, unused: 5 };

    /// Returns the part of a text that an audience sees.
    fn seen_by(audience: Audience, text: &str) -> &str {
        match audience {
            Audience::Callers => text,
            Audience::Visitors => text.split(END_OF_PUBLIC_TEXT).next().unwrap_or_default(),
        }
    }

    /// Returns which of the listings have all words, as the index says. The database compares long texts.
    fn found(
        words: &ListingWords,
        texts: &BTreeMap<Id, String>,
        query: &[String],
        audience: Audience,
    ) -> Vec<Id> {
        let long_texts = words.long_texts().iter();
        let long_texts = long_texts.filter(|id| has_all_words(seen_by(audience, &texts[*id]), query));
        let long_texts: HashSet<_> = long_texts.copied().collect();
        let filter = words.filter(query, audience, &long_texts).unwrap();
        (0..).zip(texts.keys()).filter(|(at, id)| filter.passes(*at, **id)).map(|(_, id)| *id).collect()
    }

    /// The organisation of most listings.
    const ORGANISATION: u32 = 1;

    fn set(words: &mut ListingWords, texts: &mut BTreeMap<Id, String>, id: Id, text: &str) {
        let at = texts.range(..id).count();
        if texts.insert(id, text.to_owned()).is_none() {
            words.insert(at, id, ORGANISATION, Some(text));
        } else if words.replace(at, id, ORGANISATION, Some(text)) {
            words.compact(|_| ORGANISATION);
        }
    }

    /// Appends a listing of an organisation. Returns whether its words are stored.
    fn push(words: &mut ListingWords, n: usize, organisation: u32, text: &str) -> bool {
        words.insert(n, id(n), organisation, Some(text));
        !words.long_texts().contains(&id(n))
    }

    proptest! {
        #[test]
        fn finds_the_texts_with_all_words(
            changes in prop::collection::vec(
                (0..9_usize, "[ab\u{e9}]{0,3}[ \n\u{a0}]([a-d\u{e9}]{1,5}[ \n]){0,6}", "(\u{1f}[a-d]{1,5} [a-d]{1,5})?"),
                1..60,
            ),
            queries in prop::collection::vec(prop::collection::vec("[a-d\u{e9}]{1,3}", 1..4), 1..8),
            is_small in any::<bool>(),
        ) {
            let mut words = ListingWords::with_limits(if is_small { SMALL } else { LARGE });
            let mut texts = BTreeMap::new();
            for (n, public, private) in changes {
                set(&mut words, &mut texts, id(n), &format!("{public}{private}"));
                for (query, audience) in
                    queries.iter().flat_map(|query| [(query, Audience::Callers), (query, Audience::Visitors)])
                {
                    let has_words = |(_, text): &(&Id, &String)| has_all_words(seen_by(audience, text), query);
                    let expected: Vec<_> = texts.iter().filter(has_words).map(|(id, _)| *id).collect();
                    prop_assert_eq!(found(&words, &texts, query, audience), expected);
                }
                prop_assert!(is_small || words.long_texts().is_empty());
                // Nine listings have at most 81 different words. Others are removed.
                prop_assert!(words.dictionary.len() <= 2 * 81 + 5 + 9);
            }
        }
    }

    /// The database compares texts that would take too much memory.
    #[test]
    fn memory_is_limited() {
        let limits = Limits { dictionary_bytes: 100_000, units: 100_000, unused: 1_000 };
        let mut words = ListingWords::with_limits(limits);
        let mut texts = BTreeMap::new();
        let many = |n: usize| (0..201).map(|word| format!("{n}-{word}")).collect::<Vec<_>>().join(" ");
        for n in 0..40 {
            set(&mut words, &mut texts, id(n), &many(n));
            set(&mut words, &mut texts, id(100 + n), &"x".repeat(201));
        }
        assert_eq!((words.long_texts().len(), words.bytes() < 10_000), (80, true), "{}", words.bytes());
        for n in 0..20_000 {
            set(&mut words, &mut texts, id(1_000 + n), &format!("quiet lot {n} number-{n} of-{n}"));
        }
        // Vectors have up to twice the needed capacity, and each word some bytes besides its text.
        let limit = 4 * limits.dictionary_bytes + 4 * limits.units + 20_000 * 24;
        assert!(words.bytes() < limit && words.long_texts().len() > 10_000, "{} {limit}", words.bytes());
        assert_eq!(
            found(&words, &texts, &["number-19".into(), "qui".into()], Audience::Callers).len(),
            1_111
        );
    }

    #[test]
    fn a_listing_takes_two_bytes_for_each_word() {
        let mut words = ListingWords::default();
        for n in 0..50_000 {
            let text = format!(
                "penybont farm\nhereford\ncross\nbrecon\npowys\nld3 7eg\nld37eg\nspring\nlot {n}: sound, quiet to handle, to be \
                 seen by appointment."
            );
            words.insert(n, id(n), ORGANISATION, Some(&text));
        }
        let bytes = words.bytes() / 50_000;
        assert!(bytes < 120 && words.long_texts().is_empty(), "{bytes}");
    }

    /// A tenant with very many words or listings does not make the database compare the texts of others.
    #[test]
    fn an_organisation_leaves_room_for_the_words_of_others() {
        for limits in [
            Limits { dictionary_bytes: 20_000, units: 1 << 20, unused: 100 },
            Limits { dictionary_bytes: 1 << 20, units: 4_000, unused: 100 },
        ] {
            let mut words = ListingWords::with_limits(limits);
            let organisation_of = |at: usize| if at < 1_000 { 1 } else { 2 };
            let own = |n: usize| format!("lot {n} number-{n} of-{n}");
            let stored = (0..1_000).filter(|n| push(&mut words, *n, 1, &own(*n))).count();
            assert!((300..1_000).contains(&stored), "{stored}");
            assert!((1_000..1_050).all(|n| push(&mut words, n, 2, &own(n))), "{limits:?}");
            assert!(!push(&mut words, 1_050, 1, &own(2_000)), "{limits:?}");

            // Its room is free again once it uses less.
            let is_due = (0..1_000).fold(false, |is_due, n| is_due | words.replace(n, id(n), 1, Some("")));
            assert!(is_due, "{limits:?}");
            words.compact(organisation_of);
            assert_eq!(words.dictionary.len(), 1 + 3 * 50, "{limits:?}");
            assert!((0..50).all(|n| !words.replace(n, id(n), 1, Some(&own(n)))));
            assert!((0..50).all(|n| !words.long_texts().contains(&id(n))), "{limits:?}");
        }
    }

    #[test]
    fn a_listing_adds_few_new_words() {
        let mut words = ListingWords::default();
        let long = (0..150).map(|n| format!("{n:040}")).collect::<Vec<_>>().join(" ");
        let too_long = format!("a b c {}", "x".repeat(201));
        assert!(!push(&mut words, 0, 1, &long) && !push(&mut words, 1, 1, &too_long));
        assert_eq!(words.dictionary.len(), 0, "none of the words of a long text is stored");
        let parts: Vec<_> = long.split(' ').collect();
        assert!(
            push(&mut words, 2, 1, &parts[..90].join(" ")) && push(&mut words, 3, 1, &parts[60..].join(" "))
        );
        assert!(push(&mut words, 4, 2, &long), "known words take no more room");
    }

    /// Takes as much as an organisation may, one by one. Returns how much that is.
    fn fill(shares: &mut Shares, organisation: u32) -> usize {
        let mut taken = 0;
        while shares.has_room(organisation, 1, 10_000) {
            shares.take(organisation, 1);
            taken += 1;
        }
        taken
    }

    #[test]
    fn an_organisation_leaves_room_for_others() {
        let mut shares = Shares::default();
        let taken: Vec<_> = (1..=5).map(|organisation| fill(&mut shares, organisation)).collect();
        assert_eq!(taken, [7_500, 1_875, 468, 117, 30]);
        assert!(shares.has_room(1, 0, 10_000) && !shares.has_room(6, 10, 10_000));
        assert!(!Shares::default().has_room(1, 7_501, 10_000) && !Shares::default().has_room(1, 5, 4));
    }
}
