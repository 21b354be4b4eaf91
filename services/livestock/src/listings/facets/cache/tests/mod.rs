//! Tests of the cache against counts from scratch.

mod limits;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::listings::facets::FacetService;
use crate::listings::facets::caching_index::CachingIndex;
use crate::listings::facets::fixtures::{
    CATEGORIES, VIEWERS, WORDS, any_row, any_search, id, row, search, word,
};
use crate::listings::facets::index::MAX_CHANGES;
use crate::listings::facets::model::{FacetColumns, ListingChanges, StoredMatches};

#[derive(Clone, Debug)]
enum Step {
    Change(Vec<FacetColumns>),
    Spell(String, String),
    /// Requests one of the searches.
    Request(prop::sample::Index),
    /// Makes more changes than the index remembers.
    ForgetChanges,
    /// Removes the texts that no listing has.
    RemoveUnusedTexts,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Cached facets equal facets that are counted from scratch, after any sequence of changes and requests.
    #[test]
    fn cached_facets_equal_facets_counted_from_scratch(
        searches in prop::collection::vec(any_search(), 1..6),
        steps in prop::collection::vec(prop_oneof![
            10 => prop::collection::vec(any_row(), 1..4).prop_map(Step::Change),
            2 => (word(), select(vec!["Texel", "CROSS", "x"])).prop_map(|(a, b)| Step::Spell(a, b.to_owned())),
            10 => any::<prop::sample::Index>().prop_map(Step::Request),
            1 => Just(Step::ForgetChanges),
            2 => Just(Step::RemoveUnusedTexts),
        ], 1..60),
    ) {
        let (mut index, mut rows, mut spellings) = (CachingIndex::default(), BTreeMap::new(), BTreeMap::new());
        let by_all_viewers = |search| VIEWERS.map(|viewer| (viewer, search));
        let requests = searches.iter().flat_map(by_all_viewers).collect::<Vec<_>>();
        for step in steps {
            match step {
                Step::Change(changed) => {
                    index.insert(&changed);
                    rows.extend(changed.into_iter().map(|row| (row.id, row)));
                    // The spellings are read with the listings.
                    index.add_spellings(spellings.clone().into_iter().collect());
                }
                Step::Spell(term, spelling) => {
                    index.add_spellings(vec![(term.clone(), spelling.clone())]);
                    spellings.insert(term, spelling);
                }
                Step::Request(which) => {
                    let (viewer, search) = *which.get(&requests);
                    let exact = &ExactFilters::of(viewer, search);
                    let mut new_index = CachingIndex::default();
                    new_index.insert(&rows.values().cloned().collect::<Vec<_>>());
                    new_index.add_spellings(spellings.clone().into_iter().collect());
                    let counted = get_or_count(&new_index, exact);
                    let cached = try_get(&index, exact);
                    prop_assert!(cached.is_none_or(|cached| cached == counted));
                    prop_assert_eq!(&get_or_count(&index, exact), &counted);
                    // A wishlist with all listings, which is counted by another function.
                    let ids = rows.keys().copied().collect::<Vec<_>>();
                    let stored = StoredMatches { wishlist: Some(ids), ..StoredMatches::default() };
                    let wishlist = index.facets(viewer, search, &stored, &CATEGORIES).unwrap();
                    prop_assert_eq!(&wishlist, &counted);
                    prop_assert_eq!(try_get(&index, exact), Some(counted));
                }
                Step::RemoveUnusedTexts => {
                    index.inner.remove_unused_texts();
                    index.cache = FacetCache::default();
                }
                Step::ForgetChanges => {
                    for n in 0..=MAX_CHANGES {
                        let row = row(id(0), WORDS[n % 2]);
                        index.insert(std::slice::from_ref(&row));
                        rows.insert(row.id, row);
                    }
                    index.add_spellings(spellings.clone().into_iter().collect());
                }
            }
        }
    }
}

/// Returns an index with this number of breeds, each of one listing.
fn index_of_breeds(breeds: usize) -> CachingIndex {
    let mut index = CachingIndex::default();
    index.insert(&(0..breeds).map(|n| row(id(n), &format!("breed {n}"))).collect::<Vec<_>>());
    index
}

/// Returns the filters of a search for one breed.
fn of_breed(n: usize) -> ExactFilters {
    ExactFilters::of(VIEWERS[0], &search(&json!({"f:commodityBreed": [format!("breed {n}")]})))
}

/// Returns the filters of a search without parameters.
fn of_everything() -> ExactFilters {
    ExactFilters::of(VIEWERS[0], &search(&json!({})))
}

fn try_get(index: &CachingIndex, exact: &ExactFilters) -> Option<String> {
    index.cache.try_get(exact, &index.inner, &CATEGORIES).unwrap()
}

fn get_or_count(index: &CachingIndex, exact: &ExactFilters) -> String {
    index.cache.get_or_count(exact.clone(), &index.inner, &CATEGORIES).unwrap()
}

/// The read of a cancelled request can end after a later read.
#[test]
fn changes_of_an_earlier_read_are_ignored_after_a_later_one() {
    let service = Arc::new(FacetService::default());
    let page = |n, breed| ListingChanges { rows: vec![row(id(n), breed)], ..ListingChanges::default() };
    service.apply(1, page(1, "lleyn"));
    service.apply(2, page(1, "texel"));
    // The later read has more pages, but has begun to apply them.
    service.apply(1, page(2, "hereford"));
    service.apply(2, page(2, "cross"));
    let response = get_or_count(&service.index(), &of_everything());
    assert!(response.contains("texel") && response.contains("cross"), "{response}");
    assert!(!response.contains("hereford") && !response.contains("lleyn"), "{response}");
}
