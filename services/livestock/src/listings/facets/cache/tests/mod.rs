//! Tests of the cache against counts from scratch.

mod limits;
mod values;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, LazyLock};

use common::Format;
use common::validation::ValidationErrors;
use database::Id;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::listings::facets::FacetService;
use crate::listings::facets::caching_index::CachingIndex;
use crate::listings::facets::exact_filters::Viewer;
use crate::listings::facets::index::MAX_CHANGES;
use crate::listings::facets::model::{Changes, FacetColumns};
use crate::listings::search::{ListingSearch, ListingSearchParams};
use crate::listings::search_fields::line;
use crate::listings::store::ROW_VERSION;

const VIEWERS: [Viewer<'static>; 3] = [
    Viewer { organisation_id: "a", admin: false },
    Viewer { organisation_id: "b", admin: true },
    Viewer { organisation_id: "", admin: false },
];

const WORDS: [&str; 4] = ["hereford", "texel", "cross", "our own"];

fn id(n: usize) -> Id {
    Id::parse(&format!("00000000-0000-7000-8000-{n:012}")).unwrap()
}

static CATEGORIES: LazyLock<Categories> = LazyLock::new(|| Categories::open(None).unwrap());

/// Returns an active listing.
fn row(id: Id, breed: &str) -> FacetColumns {
    FacetColumns {
        id,
        organisation_id: "a".to_owned(),
        kind: "selling".to_owned(),
        status: "active".to_owned(),
        category: 2,
        min_age: None,
        max_age: None,
        born: None,
        breed: Some(breed.to_owned()),
        breed_type: None,
        breed_society: None,
        types: String::new(),
        sexes: String::new(),
        additional_info: String::new(),
        derived: ROW_VERSION,
        cancelled_as_draft: false,
        x: None,
        y: None,
        z: None,
    }
}

fn search(query: &serde_json::Value) -> ListingSearch {
    let parameters: ListingSearchParams = serde_json::from_value(query.clone()).unwrap();
    let mut errors = ValidationErrors::default();
    let search = parameters.parse(Format::Json, &CATEGORIES, &mut errors);
    assert!(errors.is_empty(), "{query}");
    search
}

fn word() -> impl Strategy<Value = String> {
    select(&WORDS[..]).prop_map(str::to_owned)
}

fn lines(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::option::of(select(words)).prop_map(|word| word.map(line).unwrap_or_default())
}

/// Generates any state of one of twelve listings.
fn any_row() -> impl Strategy<Value = FacetColumns> {
    let states = [
        ("active", false),
        ("active", false),
        ("sold", false),
        ("found", false),
        ("draft", false),
        ("cancelled", false),
        ("cancelled", true),
    ];
    let state = select(states.to_vec());
    let identity = (0..12_usize, state, select(vec!["selling", "buying"]), 1..=5, select(vec!["a", "b"]));
    let terms = [prop::option::of(word()), prop::option::of(word()), prop::option::of(word())];
    let flags = (lines(&["store", "calves"]), lines(&["ewes", "cows"]), lines(&["organic", "named-sire"]));
    (identity, terms, flags).prop_map(
        |(
            (n, (status, cancelled_as_draft), kind, category, organisation),
            terms,
            (types, sexes, additional_info),
        )| {
            let [breed, breed_type, breed_society] = terms;
            FacetColumns {
                status: status.to_owned(),
                cancelled_as_draft,
                kind: kind.to_owned(),
                category,
                organisation_id: organisation.to_owned(),
                breed,
                breed_type,
                breed_society,
                types,
                sexes,
                additional_info,
                ..row(id(n), "")
            }
        },
    )
}

fn any_search() -> impl Strategy<Value = ListingSearch> {
    let words = || prop::collection::vec(word(), 0..3);
    let filters = [
        ("f:status", vec!["active-selling", "active-buying", "sold", "found", "draft", "cancelled"]),
        ("f:commodityType", vec!["cattle", "sheep", "store", "calves", "none"]),
        ("f:commoditySexes", vec!["ewes", "cows"]),
        ("f:commodityAdditionalInfo", vec!["organic", "named-sire"]),
        ("f:organisationId", vec!["a", "b", "c"]),
    ];
    let filters = filters.map(|(name, values)| {
        prop::option::weighted(0.3, select(values)).prop_map(move |value| value.map(|value| (name, value)))
    });
    (filters, words(), words()).prop_map(|(filters, breeds, societies)| {
        let mut query = json!({"f:commodityBreed": breeds, "f:commodityBreedSociety": societies});
        for (name, value) in filters.into_iter().flatten() {
            query[name] = json!(value);
        }
        search(&query)
    })
}

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
                    let wishlist = index.facets(viewer, search, Some(&ids), &CATEGORIES).unwrap();
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
    let changes = |breed| Changes {
        position: 1,
        seen: HashSet::from([1]),
        rows: vec![row(id(1), breed)],
        spellings: Vec::new(),
        private_spellings: Vec::new(),
    };
    service.apply(2, changes("texel"));
    service.apply(1, changes("hereford"));
    let response = get_or_count(&service.index(), &of_everything());
    assert!(response.contains("texel") && !response.contains("hereford"), "{response}");
}
