use std::collections::{BTreeMap, HashSet};

use database::Id;
use proptest::prelude::*;

use super::dictionary::Dictionary;
use super::listing_words::{Limits, ListingWords};
use super::numbers::Numbers;
use crate::listings::facets::fixtures::id;
use crate::listings::search::Audience;
use crate::listings::search_text::has_all_words;

const SMALL: Limits = Limits { dictionary_bytes: 60, units: 80, unused: 5 };
const LARGE: Limits = Limits { dictionary_bytes: 1 << 30, units: 1 << 30, unused: 5 };

/// Returns which of the listings have all words, as the index says. The database compares long texts.
fn found(words: &ListingWords, texts: &BTreeMap<Id, String>, query: &[String]) -> Vec<Id> {
    let long_texts = words.long_texts().iter().filter(|id| has_all_words(&texts[*id], query));
    let long_texts: HashSet<_> = long_texts.copied().collect();
    let filter = words.filter(query, Audience::Callers, &long_texts).unwrap();
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
        changes in prop::collection::vec((0..9_usize, "[ab\u{e9}]{0,3}[ \n\u{a0}]([a-d\u{e9}]{1,5}[ \n]){0,6}"), 1..60),
        queries in prop::collection::vec(prop::collection::vec("[a-d\u{e9}]{1,3}", 1..4), 1..8),
        is_small in any::<bool>(),
    ) {
        let mut words = ListingWords::with_limits(if is_small { SMALL } else { LARGE });
        let mut texts = BTreeMap::new();
        for (n, text) in changes {
            set(&mut words, &mut texts, id(n), &text);
            for query in &queries {
                let expected: Vec<_> =
                    texts.iter().filter(|(_, text)| has_all_words(text, query)).map(|(id, _)| *id).collect();
                prop_assert_eq!(found(&words, &texts, query), expected);
            }
            prop_assert!(is_small || words.long_texts().is_empty());
            // Nine listings have at most 63 different words. Others are removed.
            prop_assert!(words.words().count() <= 2 * 63 + 5 + 7);
        }
    }

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
    assert_eq!(found(&words, &texts, &["number-19".into(), "qui".into()]).len(), 1_111);
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
        assert_eq!(words.words().count(), 1 + 3 * 50, "{limits:?}");
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
    assert_eq!(words.words().count(), 0, "none of the words of a long text is stored");
    let parts: Vec<_> = long.split(' ').collect();
    assert!(push(&mut words, 2, 1, &parts[..90].join(" ")) && push(&mut words, 3, 1, &parts[60..].join(" ")));
    assert!(push(&mut words, 4, 2, &long), "known words take no more room");
}

/// An index from a snapshot has the same room left as the one that was written.
#[test]
fn the_room_of_organisations_is_counted_anew() {
    let organisation_of = |at: usize| u32::try_from(at % 3).unwrap();
    let mut words = ListingWords::with_limits(LARGE);
    for n in 0..60 {
        assert!(push(&mut words, n, organisation_of(n), &format!("lot {} of {}", n / 2, n % 7)));
    }
    let mut restored = ListingWords::with_limits(LARGE);
    assert!(words.words().all(|word| restored.add_word(word)));
    assert!((0..60).all(|n| restored.add_listing(id(n), words.numbers_at(n, id(n)).as_deref())));
    restored.count_shares(organisation_of);
    assert_eq!(restored.shares(), words.shares());
}
