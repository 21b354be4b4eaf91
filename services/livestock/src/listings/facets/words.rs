//! The words of listings, so that facets of a free-text query are counted in memory: the database would need more than
//! 0.1 s for a word that many of 100,000 listings have.
//!
//! A word of a query occurs in a text exactly if it occurs in one of the parts between white space. Each different
//! part is stored once, in a [`Dictionary`], and a listing has the numbers of its parts ([`WordList`]). A query looks
//! for its words in the dictionary, and then for the numbers of the found parts in each listing.
//!
//! Memory is limited: the words of listings with very many, very long or very many new ones, and of those for which
//! their organisation has no room, are not stored. The database compares their texts.

use std::collections::{BTreeSet, HashMap, HashSet};

use database::Id;

use super::columns::Dictionary;
use crate::listings::search::Audience;
use crate::listings::search_text::END_OF_PUBLIC_TEXT;

/// Different words of a listing. Descriptions of 200 words have fewer.
const MAX_LISTING_WORDS: usize = 200;
/// Bytes of the longest word. Texts without white space are longer.
const MAX_WORD_BYTES: usize = 200;
/// The room for the words of all listings: the bytes of their lists, and [`room_of`] all different words.
const MAX_ROOM: usize = 192 << 20;
/// The room for the words of a listing that no other has: 4 KiB. Most have one or two such words.
const MAX_NEW_WORDS: usize = 16 << 10;

/// Returns the room that a word takes in the dictionary: four times its bytes, because each query searches all words.
fn room_of(word: &str) -> usize {
    4 * (word.len() + 1)
}

/// Before a number that takes two more units: its upper and its lower half.
const WIDE: u16 = u16::MAX;

/// The numbers of the words of a listing: two bytes for each number, or six for numbers from 65,535 on.
#[derive(Debug)]
struct WordList(Box<[u16]>);

impl FromIterator<u32> for WordList {
    fn from_iter<T: IntoIterator<Item = u32>>(numbers: T) -> Self {
        let numbers = numbers.into_iter();
        let mut units = Vec::with_capacity(numbers.size_hint().0);
        for number in numbers {
            let [a, b, c, d] = number.to_be_bytes();
            let (upper, lower) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            if number < WIDE.into() {
                units.push(lower);
            } else {
                units.extend([WIDE, upper, lower]);
            }
        }
        Self(units.into())
    }
}

impl WordList {
    /// Returns the numbers of the list.
    #[inline]
    fn numbers(&self) -> impl Iterator<Item = u32> {
        let mut units = self.0.iter().copied();
        std::iter::from_fn(move || {
            let first = units.next()?;
            if first != WIDE {
                return Some(first.into());
            }
            Some(u32::from(units.next()?) << 16 | u32::from(units.next()?))
        })
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// The words of all listings.
#[derive(Debug)]
pub(crate) struct ListingWords {
    dictionary: Dictionary,
    /// The words of each listing; `None` if the database compares its text.
    lists: Vec<Option<WordList>>,
    room: Room,
}

impl Default for ListingWords {
    fn default() -> Self {
        Self::with_room(MAX_ROOM)
    }
}

/// The words of a query, as marks of the words of listings that contain them.
#[derive(Debug)]
pub(crate) struct WordFilter<'a> {
    lists: &'a [Option<WordList>],
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
        let Some(list) = &self.lists[at] else { return self.long_texts.contains(&id) };
        let marks = list.numbers().map(|number| self.marks[number as usize]);
        marks.fold(0, |found, mark| found | mark) == self.all
    }
}

impl ListingWords {
    /// Creates an empty list with room for this much.
    fn with_room(max: usize) -> Self {
        let room = Room { max, ..Room::default() };
        Self { dictionary: Dictionary::default(), lists: Vec::new(), room }
    }

    /// Returns the number of different words.
    pub(crate) fn len(&self) -> usize {
        self.dictionary.len()
    }

    /// Inserts the words of a listing of an organisation at a position of the index.
    pub(crate) fn insert(&mut self, at: usize, organisation: u32, text: &str) {
        let list = self.add_words(organisation, text);
        self.lists.insert(at, list);
    }

    /// Replaces the words of the listing at a position of the index.
    pub(crate) fn replace(&mut self, at: usize, organisation: u32, text: &str) {
        if let Some(old) = self.lists[at].take() {
            self.room.give_back(organisation, old.bytes());
        }
        self.lists[at] = self.add_words(organisation, text);
    }

    /// Adds the different words of a text. Adds none and returns `None` if they are too many or too long, or if the
    /// organisation has no room for them.
    fn add_words(&mut self, organisation: u32, text: &str) -> Option<WordList> {
        let mut words = BTreeSet::new();
        let (public, private) = text.split_once(END_OF_PUBLIC_TEXT).unwrap_or((text, ""));
        let private: Vec<_> =
            private.split_whitespace().map(|word| format!("{END_OF_PUBLIC_TEXT}{word}")).collect();
        for word in public.split_whitespace().chain(private.iter().map(String::as_str)) {
            words.insert(word);
            if words.len() > MAX_LISTING_WORDS || word.len() > MAX_WORD_BYTES {
                return None;
            }
        }
        let words: Vec<_> = words.into_iter().map(|word| (word, self.dictionary.find(word))).collect();
        let new_words = words.iter().filter(|(_, known)| known.is_none()).map(|(word, _)| room_of(word));
        let new_words: usize = new_words.sum();
        // Most numbers take less than the six bytes that a number can take.
        if new_words > MAX_NEW_WORDS || !self.room.has(organisation, new_words + 6 * words.len()) {
            return None;
        }
        let numbers = words.into_iter();
        let numbers = numbers.map(|(word, known)| known.unwrap_or_else(|| self.dictionary.intern(word)));
        let list: WordList = numbers.collect();
        self.room.take(organisation, new_words + list.bytes());
        Some(list)
    }

    /// Removes the words that no listing has, and renumbers the others. `organisations` has those of the listings.
    pub(crate) fn remove_unused(&mut self, organisations: &[u32]) {
        let numbers = self.dictionary.retain(self.lists.iter().flatten().flat_map(WordList::numbers));
        self.room = Room { max: self.room.max, ..Room::default() };
        let mut counted = 0;
        for (list, organisation) in self.lists.iter_mut().zip(organisations) {
            let Some(list) = list else { continue };
            *list = list.numbers().map(|number| numbers[number as usize].unwrap_or_default()).collect();
            self.room.take(*organisation, list.bytes());
            for number in list.numbers() {
                // New numbers are in the order of their first use.
                if number == counted {
                    self.room.take(*organisation, room_of(self.dictionary.get(number)));
                    counted += 1;
                }
            }
        }
    }

    /// Returns the positions of the listings whose texts the database must compare.
    pub(crate) fn long_texts(&self) -> impl Iterator<Item = usize> {
        let lists = self.lists.iter().enumerate();
        lists.filter(|(_, list)| list.is_none()).map(|(at, _)| at)
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
            for number in self.dictionary.having_word(word) {
                let is_seen = || !self.dictionary.get(number).starts_with(END_OF_PUBLIC_TEXT);
                if audience == Audience::Callers || is_seen() {
                    marks[number as usize] |= bit;
                }
            }
        }
        (all != 0).then_some(WordFilter { lists: &self.lists, marks, all, long_texts })
    }

    /// Returns the memory use in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let lists = self.lists.iter().flatten().map(WordList::bytes).sum::<usize>();
        self.dictionary.bytes() + lists + self.lists.capacity() * size_of::<Option<WordList>>()
    }
}

/// The room that organisations take: each may take three times the room that is left. One of them alone takes at most
/// three quarters of it, and none takes the last of it, so that each leaves room for the others.
#[derive(Debug, Default)]
struct Room {
    /// By number of the organisation.
    taken: HashMap<u32, usize>,
    total: usize,
    max: usize,
}

impl Room {
    /// Returns whether an organisation may take this much more.
    fn has(&self, organisation: u32, more: usize) -> bool {
        let taken = self.taken.get(&organisation).copied().unwrap_or_default() + more;
        let left = self.max.checked_sub(self.total + more);
        more == 0 || left.is_some_and(|left| taken <= left.saturating_mul(3))
    }

    /// Adds to what an organisation takes.
    fn take(&mut self, organisation: u32, more: usize) {
        *self.taken.entry(organisation).or_default() += more;
        self.total += more;
    }

    /// Subtracts from what an organisation takes.
    fn give_back(&mut self, organisation: u32, less: usize) {
        let taken = self.taken.entry(organisation).or_default();
        *taken = taken.saturating_sub(less);
        self.total = self.total.saturating_sub(less);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::listings::facets::tests::id;
    use crate::listings::search_text::has_all_words;

    /// Returns the part of a text that an audience sees.
    fn seen_by(audience: Audience, text: &str) -> &str {
        match audience {
            Audience::Callers => text,
            Audience::Visitors => text.split(END_OF_PUBLIC_TEXT).next().unwrap_or_default(),
        }
    }

    /// Returns which of the listings have all words, as the index says. The database compares long texts.
    fn found(words: &ListingWords, texts: &[String], query: &[String], audience: Audience) -> Vec<usize> {
        let compare = |at: &usize| has_all_words(seen_by(audience, &texts[*at]), query);
        let long_texts = words.long_texts().filter(compare).map(id).collect();
        let filter = words.filter(query, audience, &long_texts).unwrap();
        (0..texts.len()).filter(|at| filter.passes(*at, id(*at))).collect()
    }

    /// Appends a listing of an organisation. Returns whether its words are stored.
    fn push(words: &mut ListingWords, organisation: u32, text: &str) -> bool {
        let at = words.lists.len();
        words.insert(at, organisation, text);
        words.lists[at].is_some()
    }

    proptest! {
        #[test]
        fn lists_have_their_numbers(numbers in prop::collection::vec(any::<u32>(), 0..9), narrow in 65_530..65_540_u32) {
            let numbers = [&*numbers, &[narrow]].concat();
            let list: WordList = numbers.iter().copied().collect();
            prop_assert_eq!(list.numbers().collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn finds_the_texts_with_all_words(
            changes in prop::collection::vec(
                (0..9_usize, "[ab\u{e9}]{0,3}[ \n\u{a0}]([a-d\u{e9}]{1,5}[ \n]){0,6}", "(\u{1f}[a-d]{1,5} [a-d]{1,5})?"),
                1..60,
            ),
            queries in prop::collection::vec(prop::collection::vec("[a-d\u{e9}]{1,3}", 1..4), 1..8),
            is_small in any::<bool>(),
        ) {
            let mut words = ListingWords::with_room(if is_small { 400 } else { 1 << 30 });
            let mut texts = Vec::new();
            for (n, public, private) in changes {
                let text = format!("{public}{private}");
                if let Some(old) = texts.get_mut(n) {
                    words.replace(n, 1, &text);
                    *old = text;
                } else {
                    words.insert(texts.len(), 1, &text);
                    texts.push(text);
                }
                if n == 0 {
                    words.remove_unused(&vec![1; texts.len()]);
                }
                let requests = queries.iter().flat_map(|query| [(query, Audience::Callers), (query, Audience::Visitors)]);
                for (query, audience) in requests {
                    let has_words = |at: &usize| has_all_words(seen_by(audience, &texts[*at]), query);
                    let expected: Vec<_> = (0..texts.len()).filter(has_words).collect();
                    prop_assert_eq!(found(&words, &texts, query, audience), expected);
                }
                prop_assert!(is_small || words.long_texts().next().is_none());
            }
        }
    }

    #[test]
    fn a_listing_takes_two_bytes_for_each_word() {
        let mut words = ListingWords::default();
        for n in 0..50_000 {
            let text = format!(
                "penybont farm\nhereford\ncross\nbrecon\npowys\nld3 7eg\nld37eg\nspring\nlot {n}: sound, quiet to handle, to be \
                 seen by appointment."
            );
            assert!(push(&mut words, 1, &text));
        }
        let bytes = words.bytes() / 50_000;
        assert!(bytes < 120, "{bytes}");
    }

    /// A tenant with very many words does not make the database compare the texts of others.
    #[test]
    fn an_organisation_leaves_room_for_the_words_of_others() {
        let room = 80_000;
        let mut words = ListingWords::with_room(room);
        let own = |n: usize| format!("lot {n} number-{n} of-{n}");
        let stored = (0..1_000).filter(|n| push(&mut words, 1, &own(*n))).count();
        assert!((300..1_000).contains(&stored), "{stored}");
        assert!((1_000..1_050).all(|n| push(&mut words, 2, &own(n))));
        assert!(!push(&mut words, 1, &own(2_000)));
        // Vectors have up to twice the needed capacity, and each word some bytes besides its text.
        assert!(words.bytes() < 4 * room, "{}", words.bytes());

        // Its room is free again once it uses less.
        (0..1_000).for_each(|at| words.replace(at, 1, ""));
        words.remove_unused(&[&[1; 1_000][..], &[2; 50], &[1]].concat());
        assert_eq!(words.len(), 1 + 3 * 50);
        (0..50).for_each(|at| words.replace(at, 1, &own(at)));
        assert!(words.lists[..1_050].iter().all(Option::is_some));
    }

    #[test]
    fn a_listing_adds_few_new_words() {
        let mut words = ListingWords::default();
        let long = (0..150).map(|n| format!("{n:040}")).collect::<Vec<_>>().join(" ");
        let too_long = format!("a b c {}", "x".repeat(201));
        assert!(!push(&mut words, 1, &long) && !push(&mut words, 1, &too_long));
        assert_eq!(words.len(), 0, "none of the words of a long text is stored");
        let parts: Vec<_> = long.split(' ').collect();
        assert!(push(&mut words, 1, &parts[..90].join(" ")) && push(&mut words, 1, &parts[60..].join(" ")));
        assert!(push(&mut words, 2, &long), "known words are no new ones");
    }
}
