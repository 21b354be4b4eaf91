//! Listings whose texts the database compares, against listings whose words the index has.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::listings::facets::caching_index::CachingIndex;
use crate::listings::facets::fixtures::{
    CATEGORIES, VIEWERS, WORDS, any_row, any_search, id, row, search, word,
};
use crate::listings::facets::model::StoredMatches;
use crate::listings::search_text::has_all_words;

/// Returns a listing with more words than the index stores.
fn with_long_text(columns: FacetColumns) -> FacetColumns {
    let words = (0..201).map(|n| format!("word-{n}"));
    let text = columns.search_text.into_iter().chain(words).collect::<Vec<_>>().join(" ");
    FacetColumns { search_text: Some(text), ..columns }
}

fn index_of(rows: impl Iterator<Item = FacetColumns>) -> CachingIndex {
    let mut index = CachingIndex::default();
    index.insert(&rows.collect::<Vec<_>>());
    index
}

proptest! {
    /// The comparison of the other texts would change no count and no page.
    #[test]
    fn the_compared_texts_suffice(
        rows in prop::collection::vec((any_row(), any::<bool>()), 0..30),
        searches in prop::collection::vec((any_search(), word()), 1..6),
    ) {
        let rows: BTreeMap<Id, _> = rows.into_iter().map(|(row, is_long)| (row.id, (row, is_long))).collect();
        let stored = index_of(rows.values().map(|(row, _)| row.clone()));
        let compared = index_of(rows.values().map(|(row, is_long)| {
            if *is_long { with_long_text(row.clone()) } else { row.clone() }
        }));
        let has_words = |id: &Id, words: &[String]| {
            has_all_words(rows[id].0.search_text.as_deref().unwrap_or_default(), words)
        };
        for (search, word) in searches {
            let words = word.split(' ').map(str::to_owned).collect();
            let search = ListingSearch { words, ..search };
            for viewer in VIEWERS {
                let exact = ExactFilters::of(viewer, &search);
                let ids = compared.inner.counted_long_texts(&exact, RangeFilters::of(&search).as_ref());
                prop_assert!(ids.is_sorted());
                let long_texts: HashSet<_> = ids.into_iter().filter(|id| has_words(id, &search.words)).collect();
                for wishlist in [None, Some(rows.keys().copied().collect::<Vec<_>>())] {
                    let matches = StoredMatches { wishlist: wishlist.clone(), long_texts: long_texts.clone() };
                    let found = compared.facets(viewer, &search, &matches, &CATEGORIES).unwrap();
                    let matches = StoredMatches { wishlist, ..StoredMatches::default() };
                    prop_assert_eq!(found, stored.facets(viewer, &search, &matches, &CATEGORIES).unwrap());
                }
            }
            let expected = stored.inner.candidates(&search, 30).unwrap();
            let found = compared.inner.candidates(&search, 30).unwrap();
            prop_assert!(expected.iter().all(|id| found.contains(id)));
            prop_assert!(found.iter().all(|id| rows[id].1 || expected.contains(id)));
        }
    }
}

/// One organisation may have thousands of drafts with long texts.
#[test]
fn texts_of_drafts_and_cancelled_listings_are_not_compared() {
    let statuses = ["active", "sold", "draft", "cancelled"];
    let rows = (0..).zip(statuses).map(|(n, status)| {
        with_long_text(FacetColumns { status: status.to_owned(), ..row(id(n), WORDS[0]) })
    });
    let index = index_of(rows).inner;
    let of = |numbers: &[usize]| numbers.iter().map(|n| id(*n)).collect::<Vec<_>>();
    for (query, viewer, counted, found) in [
        (json!({"query": "x"}), 0, &[0, 1][..], &[0][..]),
        (json!({"query": "x", "f:status": "sold"}), 0, &[0, 1], &[1]),
        (json!({"query": "x", "f:commodityType": "sheep"}), 0, &[0], &[]),
        (json!({"query": "x", "f:status": "draft"}), 0, &[0, 1, 2], &[2]),
        (json!({"query": "x", "f:status": "draft"}), 2, &[0, 1], &[2]),
        (json!({"query": "x", "f:status": "cancelled"}), 1, &[0, 1, 3], &[3]),
        (json!({"query": "x", "minAge": 5.0}), 0, &[], &[]),
    ] {
        let search = search(&query);
        let exact = ExactFilters::of(VIEWERS[viewer], &search);
        let ids = index.counted_long_texts(&exact, RangeFilters::of(&search).as_ref());
        assert_eq!(ids, of(counted), "{query}");
        assert_eq!(index.candidates(&search, 4).unwrap(), of(found), "{query}");
    }
    assert_eq!(index.candidates(&search(&json!({"query": "x"})), 0), None);
}
