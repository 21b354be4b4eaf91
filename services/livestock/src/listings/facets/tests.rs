//! Tests of the index and its cache against indexes that are built from the start, and their listings and searches.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, LazyLock};

use common::Format;
use common::validation::ValidationErrors;
use database::Id;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::FacetService;
use super::counts::MAX_VALUES;
use super::filters::{SearchFilters, Viewer};
use super::index::FacetIndex;
use super::model::{FacetColumns, ListingChanges, PrivateSpelling, StoredMatches};
use crate::categories::Categories;
use crate::listings::search::{ListingSearch, ListingSearchParams};
use crate::listings::search_fields::line;
use crate::listings::search_text::has_all_words;
use crate::listings::store::ROW_VERSION;

pub(crate) const VIEWERS: [Viewer<'static>; 3] = [
    Viewer { organisation_id: "a", admin: false },
    Viewer { organisation_id: "b", admin: true },
    Viewer { organisation_id: "", admin: false },
];

const WORDS: [&str; 4] = ["hereford", "texel", "cross", "our own"];

pub(crate) fn id(n: usize) -> Id {
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
        search_text: Some(breed.to_owned()),
    }
}

fn search(query: &Value) -> ListingSearch {
    let parameters: ListingSearchParams = serde_json::from_value(query.clone()).unwrap();
    let mut errors = ValidationErrors::default();
    let search = parameters.parse(Format::Json, &CATEGORIES, &mut errors);
    assert!(errors.is_empty(), "{query}");
    search
}

pub(crate) fn filters(viewer: Viewer<'_>, query: &Value) -> SearchFilters {
    SearchFilters::for_viewer(viewer, &search(query))
}

/// Returns an index with these listings.
fn index_of(rows: impl IntoIterator<Item = FacetColumns>) -> FacetIndex {
    let mut index = FacetIndex::default();
    change(&mut index, rows);
    index
}

fn change(index: &mut FacetIndex, rows: impl IntoIterator<Item = FacetColumns>) {
    index.apply(ListingChanges { rows: rows.into_iter().collect(), ..ListingChanges::default() });
}

fn facets(index: &FacetIndex, filters: &SearchFilters) -> String {
    index.facets(filters, &StoredMatches::default(), &CATEGORIES).unwrap()
}

fn parsed(index: &FacetIndex, query: &Value) -> Value {
    serde_json::from_str(&facets(index, &filters(VIEWERS[0], query))).unwrap()
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
            let texts = [&breed, &breed_type, &breed_society].map(|term| term.clone().unwrap_or_default());
            FacetColumns {
                search_text: Some(texts.join("\n")),
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
    /// Listings change, with the spelling of all terms in each of the two organisations.
    Change(Vec<FacetColumns>, [&'static str; 2]),
    /// A term is spelled in public.
    Spell(String, &'static str),
    /// Requests one of the searches.
    Request(prop::sample::Index),
}

fn any_step() -> impl Strategy<Value = Step> {
    let spelling = || select(vec!["Texel", "CROSS", "texel"]);
    prop_oneof![
        10 => (prop::collection::vec(any_row(), 1..4), [spelling(), spelling()]).prop_map(|(a, b)| Step::Change(a, b)),
        2 => (word(), spelling()).prop_map(|(a, b)| Step::Spell(a, b)),
        20 => any::<prop::sample::Index>().prop_map(Step::Request),
    ]
}

/// What the database has: another index is built from it to compare.
#[derive(Default)]
struct Stored {
    rows: BTreeMap<Id, FacetColumns>,
    spellings: BTreeMap<String, String>,
    /// By organisation and term.
    private: BTreeMap<(String, String), String>,
}

impl Stored {
    /// Returns changes as the store reads them for these listings.
    fn changes(&self, rows: impl Iterator<Item = FacetColumns>) -> ListingChanges {
        let private = self.private.iter().map(|((organisation, term), spelling)| PrivateSpelling {
            organisation_id: organisation.clone(),
            term: term.clone(),
            spelling: spelling.clone(),
        });
        ListingChanges {
            rows: rows.collect(),
            spellings: self.spellings.clone().into_iter().collect(),
            private_spellings: private.collect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// After any sequence of changes and requests, facets equal those of a new index.
    #[test]
    fn cached_facets_equal_facets_of_a_new_index(
        searches in prop::collection::vec(any_search(), 1..6),
        steps in prop::collection::vec(any_step(), 1..60),
    ) {
        let (mut index, mut stored) = (FacetIndex::default(), Stored::default());
        let by_all_viewers = |search| VIEWERS.map(|viewer| SearchFilters::for_viewer(viewer, search));
        let requests = searches.iter().flat_map(by_all_viewers).collect::<Vec<_>>();
        for step in steps {
            match step {
                Step::Change(rows, spellings) => {
                    for (organisation, spelling) in ["a", "b"].into_iter().zip(spellings) {
                        let key = |word: &&str| ((organisation.to_owned(), (*word).to_owned()), spelling.to_owned());
                        stored.private.extend(WORDS.iter().map(key));
                    }
                    for row in rows.iter().filter(|row| row.status != "draft" && row.status != "cancelled") {
                        // A listing is committed together with the spellings of its terms.
                        for term in [&row.breed, &row.breed_type, &row.breed_society].into_iter().flatten() {
                            stored.spellings.entry(term.clone()).or_insert_with(|| spellings[0].to_owned());
                        }
                    }
                    stored.rows.extend(rows.iter().map(|row| (row.id, row.clone())));
                    index.apply(stored.changes(rows.into_iter()));
                }
                Step::Spell(term, spelling) => {
                    stored.spellings.insert(term, spelling.to_owned());
                    index.add_spellings(stored.spellings.clone().into_iter().collect());
                }
                Step::Request(which) => {
                    let filters = which.get(&requests);
                    let mut new = FacetIndex::default();
                    new.apply(stored.changes(stored.rows.values().cloned()));
                    let counted = facets(&new, filters);
                    if let Some(cached) = index.cached(filters) {
                        prop_assert_eq!(&cached, &counted);
                    }
                    prop_assert_eq!(&facets(&index, filters), &counted);
                    // A wishlist with all listings, which are looked up one by one.
                    let wishlist = Some(stored.rows.keys().copied().collect::<Vec<_>>());
                    let matches = StoredMatches { wishlist, ..StoredMatches::default() };
                    prop_assert_eq!(&index.facets(filters, &matches, &CATEGORIES).unwrap(), &counted);
                    prop_assert_eq!(index.cached(filters), Some(counted));
                }
            }
        }
    }

    /// Listings whose texts the database compares, against listings whose words the index has. The comparison of the
    /// other texts would change no count and no page.
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
            for filters in VIEWERS.map(|viewer| SearchFilters::for_viewer(viewer, &search)) {
                let ids = compared.counted_long_texts(&filters);
                prop_assert!(ids.is_sorted());
                let long_texts: HashSet<_> = ids.into_iter().filter(|id| has_words(id, &search.words)).collect();
                for wishlist in [None, Some(rows.keys().copied().collect::<Vec<_>>())] {
                    let matches = StoredMatches { wishlist: wishlist.clone(), long_texts: long_texts.clone() };
                    let found = compared.facets(&filters, &matches, &CATEGORIES).unwrap();
                    let matches = StoredMatches { wishlist, ..StoredMatches::default() };
                    prop_assert_eq!(found, stored.facets(&filters, &matches, &CATEGORIES).unwrap());
                }
                let expected = stored.candidates(&filters, 30).unwrap();
                let found = compared.candidates(&filters, 30).unwrap();
                prop_assert!(expected.iter().all(|id| found.contains(id)));
                prop_assert!(found.iter().all(|id| rows[id].1 || expected.contains(id)));
            }
        }
    }
}

/// Returns a listing with more words than the index stores.
fn with_long_text(columns: FacetColumns) -> FacetColumns {
    let words = (0..201).map(|n| format!("word-{n}"));
    let text = columns.search_text.into_iter().chain(words).collect::<Vec<_>>().join(" ");
    FacetColumns { search_text: Some(text), ..columns }
}

/// One organisation may have thousands of drafts with long texts.
#[test]
fn texts_of_drafts_and_cancelled_listings_are_not_compared() {
    let statuses = ["active", "sold", "draft", "cancelled"];
    let index = index_of((0..).zip(statuses).map(|(n, status)| {
        with_long_text(FacetColumns { status: status.to_owned(), ..row(id(n), WORDS[0]) })
    }));
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
        let filters = filters(VIEWERS[viewer], &query);
        assert_eq!(index.counted_long_texts(&filters), of(counted), "{query}");
        assert_eq!(index.candidates(&filters, 4).unwrap(), of(found), "{query}");
    }
    assert_eq!(index.candidates(&filters(VIEWERS[0], &json!({"query": "x"})), 0), None);
}

/// A write makes only those requests count again whose response it may change.
#[test]
fn a_change_removes_only_the_combinations_that_count_the_listing() {
    let queries = [
        json!({}),
        json!({"f:commodityType": "sheep"}),
        json!({"f:commodityBreed": ["lleyn"]}),
        json!({"f:status": "sold"}),
        json!({"f:status": "draft"}),
        json!({"f:organisationId": "b"}),
        json!({"f:commodityBreed": ["lleyn"], "f:commodityType": "sheep"}),
    ];
    let status = |status: &str| FacetColumns { status: status.to_owned(), ..row(id(1), "texel") };
    // The listing is of cattle and of organisation `a`.
    for (before, after, expected) in [
        ("active", "active", vec![0, 1, 2, 3, 4, 5, 6]),
        ("active", "sold", vec![5, 6]),
        ("draft", "active", vec![5, 6]),
        ("draft", "cancelled", vec![0, 1, 2, 3, 5, 6]),
    ] {
        let mut index = index_of([status(before)]);
        let searches = queries.each_ref().map(|query| filters(VIEWERS[0], query));
        for filters in &searches {
            facets(&index, filters);
        }
        change(&mut index, [status(after)]);
        let cached: Vec<_> = (0..7).filter(|n| index.cached(&searches[*n]).is_some()).collect();
        assert_eq!(cached, expected, "{before} {after}");
    }
}

#[test]
fn many_changes_at_once_clear_the_cache() {
    let mut index = index_of((0..100).map(|n| row(id(n), "texel")));
    let filters = filters(VIEWERS[0], &json!({"f:organisationId": "b"}));
    for (changes, is_cached) in [(64, true), (65, false)] {
        facets(&index, &filters);
        change(&mut index, (0..changes).map(|n| row(id(n), &format!("breed {n}"))));
        assert_eq!(index.cached(&filters).is_some(), is_cached, "{changes}");
    }
}

/// Listings whose breeds, societies and types change again and again do not make the index grow.
#[test]
fn unused_texts_are_removed() {
    let changed = |n: usize| FacetColumns {
        breed_society: Some(format!("society {n}")),
        types: line(&format!("type {n}")),
        status: if n.is_multiple_of(3) { "draft" } else { "active" }.to_owned(),
        ..row(id(100 + n % 2), &format!("new {n}"))
    };
    let others = || (0..100).map(|n| row(id(n), &format!("breed {n}")));
    let with_spellings = |rows: Vec<FacetColumns>| {
        let breeds = rows.iter().filter_map(|row| row.breed.clone()).collect::<Vec<_>>();
        let private = |term: &String| PrivateSpelling {
            organisation_id: "a".to_owned(),
            term: term.clone(),
            spelling: term.to_uppercase(),
        };
        let private_spellings = breeds.iter().map(private).collect();
        let spellings = breeds.into_iter().map(|term| (term.clone(), format!("{term}!"))).collect();
        ListingChanges { rows, spellings, private_spellings }
    };
    let mut index = FacetIndex::default();
    index.apply(with_spellings(others().collect()));
    for n in 0..2_000 {
        index.apply(with_spellings(vec![changed(n)]));
    }
    let sizes = index.sizes();
    assert!(sizes.iter().all(|size| *size <= 107), "{sizes:?}");
    let mut new = FacetIndex::default();
    new.apply(with_spellings(others().chain([changed(1_998), changed(1_999)]).collect()));
    for query in [json!({}), json!({"f:status": "draft"}), json!({"f:commodityType": "type 1999"})] {
        assert_eq!(parsed(&index, &query), parsed(&new, &query), "{query}");
    }
}

/// 10,500 listings with breeds of 200 characters once led to responses of 15.7 MiB, which were not cached. New breeds
/// have at most 60 characters.
#[test]
fn many_long_breeds_do_not_prevent_caching() {
    for (chars, listed) in [(200, 0), (60, 1_000)] {
        let text = |n: usize, name: &str| format!("{name}{n:06}{}", "\u{1f404}".repeat(chars - 7));
        let index = index_of((0..10_500).map(|n| FacetColumns {
            breed_society: Some(text(n, "s")),
            search_text: None,
            ..row(id(n), &text(n, "b"))
        }));
        let filters = filters(VIEWERS[0], &json!({}));
        let response = facets(&index, &filters);
        assert!(response.len() < 300_000, "{}", response.len());
        assert_eq!(response.matches("\u{1f404}\"").count(), listed);
        assert!(response.ends_with("\"total\":10500,\"truncated\":true}"));
        assert_eq!(index.cached(&filters), Some(response));
    }
}

#[test]
fn lists_the_most_frequent_values_without_commas() {
    let mut index = index_of((0..=MAX_VALUES).map(|n| row(id(n), &format!("breed {n}"))));
    change(&mut index, [row(id(9_000), "breed 7"), row(id(9_001), "breed 500")]);
    let response = parsed(&index, &json!({}));
    let values = response["filters"]["f:commodityBreed"].as_array().unwrap();
    let counts: Vec<_> = values.iter().map(|value| value["count"].as_u64().unwrap()).collect();
    assert_eq!((counts.len(), &counts[..3]), (MAX_VALUES, &[2, 2, 1][..]));
    assert_eq!([&values[0]["value"], &values[1]["value"]], ["breed 500", "breed 7"]);
    assert_eq!(response["truncated"], true);

    let index = index_of([row(id(1), "texel, cross"), row(id(2), "texel, cross"), row(id(3), "texel")]);
    let response = parsed(&index, &json!({}));
    assert_eq!(response["filters"]["f:commodityBreed"], json!([{"value": "texel", "count": 1}]));
    assert_eq!((&response["total"], &response["truncated"]), (&json!(3), &json!(true)));
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
    let response = facets(&service.index(), &filters(VIEWERS[0], &json!({})));
    assert!(response.contains("texel") && response.contains("cross"), "{response}");
    assert!(!response.contains("hereford") && !response.contains("lleyn"), "{response}");
}
