//! Tests of the index and its cache against indexes that are built from the start, and their listings and searches.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use common::Format;
use common::validation::ValidationErrors;
use database::Id;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::filters::{SearchFilters, Viewer};
use super::index::FacetIndex;
use super::model::{FacetColumns, ListingChanges, Spelling, StoredMatches};
use crate::categories::Categories;
use crate::listings::search::{Candidates, ListingSearch, ListingSearchParams};
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
        lon: None,
        search_text: Some(breed.to_owned()),
        price: None,
        max_price: None,
        currency: None,
    }
}

fn search(query: &Value) -> ListingSearch {
    let parameters: ListingSearchParams = serde_json::from_value(query.clone()).unwrap();
    let mut errors = ValidationErrors::default();
    let search = parameters.parse(Format::Json, &CATEGORIES, None, &mut errors);
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

fn one<T: Copy>(rng: &mut StdRng, values: &[T]) -> T {
    *values.choose(rng).unwrap()
}

/// Returns one of the values or none.
fn maybe<T: Copy>(rng: &mut StdRng, probability: f64, values: &[T]) -> Option<T> {
    rng.random_bool(probability).then(|| one(rng, values))
}

/// Returns any state of one of twelve listings.
fn random_row(rng: &mut StdRng) -> FacetColumns {
    let states = ["active", "active", "sold", "found", "draft", "cancelled"];
    let terms = [(); 3].map(|()| maybe(rng, 0.7, &WORDS).map(str::to_owned));
    let texts = terms.clone().map(Option::unwrap_or_default);
    let [breed, breed_type, breed_society] = terms;
    let mut lines = |values: &[&str]| maybe(rng, 0.7, values).map(line).unwrap_or_default();
    FacetColumns {
        types: lines(&["store", "calves"]),
        sexes: lines(&["ewes", "cows"]),
        additional_info: lines(&["organic", "named-sire"]),
        search_text: Some(texts.join("\n")),
        status: one(rng, &states).to_owned(),
        cancelled_as_draft: rng.random(),
        kind: one(rng, &["selling", "buying"]).to_owned(),
        category: rng.random_range(1..=5),
        organisation_id: one(rng, &["a", "b"]).to_owned(),
        breed,
        breed_type,
        breed_society,
        price: maybe(rng, 0.7, &[20, 5]),
        max_price: Some(one(rng, &[20, 25])),
        currency: Some(one(rng, &["GBP", "EUR"]).to_owned()),
        min_age: maybe(rng, 0.5, &[10_000, 50_000]),
        max_age: maybe(rng, 0.5, &[60_000]),
        born: maybe(rng, 0.3, &[700_000, 800_000]),
        ..row(id(rng.random_range(0..12)), "")
    }
}

fn random_search(rng: &mut StdRng) -> ListingSearch {
    let mut query = json!({});
    for (name, values) in [
        ("f:status", &["active-selling", "active-buying", "sold", "found", "draft", "cancelled"][..]),
        ("f:commodityType", &["cattle", "sheep", "store", "calves", "none"]),
        ("f:commodityBreed", &WORDS),
        ("f:breedType", &WORDS),
        ("f:commodityBreedSociety", &WORDS),
        ("f:commoditySexes", &["ewes", "cows"]),
        ("f:commodityAdditionalInfo", &["organic", "named-sire"]),
        ("f:organisationId", &["a", "b", "c"]),
    ] {
        if let Some(value) = maybe(rng, 0.3, values) {
            query[name] = if values == WORDS { json!([value, one(rng, values)]) } else { json!(value) };
        }
    }
    search(&query)
}

fn spelling(organisation: Option<&str>, term: &str, text: &str) -> Spelling {
    let organisation_id = organisation.map(str::to_owned);
    Spelling { organisation_id, term: term.to_owned(), text: text.to_owned() }
}

/// By organisation, which public spellings do not have, and term.
type Spellings = BTreeMap<(Option<&'static str>, String), &'static str>;

/// Returns changes as the store reads them, with all spellings.
fn changes<'a>(rows: impl IntoIterator<Item = &'a FacetColumns>, spellings: &Spellings) -> ListingChanges {
    let spellings = spellings.iter().map(|((owner, term), text)| spelling(*owner, term, text));
    ListingChanges { rows: rows.into_iter().cloned().collect(), spellings: spellings.collect() }
}

/// After any sequence of changes and requests, facets equal those of a new index.
#[test]
fn cached_facets_equal_facets_of_a_new_index() {
    for seed in 0..256 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let (mut index, mut stored) = (FacetIndex::default(), BTreeMap::new());
        let mut spellings = Spellings::new();
        let searches = [(); 5].map(|()| random_search(rng));
        let by_all_viewers = |search| VIEWERS.map(|viewer| SearchFilters::for_viewer(viewer, search));
        let requests: Vec<_> = searches.iter().flat_map(by_all_viewers).collect();
        for _ in 0..60 {
            let texts = [(); 2].map(|()| one(rng, &["Texel", "CROSS", "texel"]));
            match rng.random_range(0..16) {
                0 => {
                    // A term is spelled in public.
                    spellings.insert((None, one(rng, &WORDS).to_owned()), texts[0]);
                    index.apply(changes([], &spellings));
                }
                1..6 => {
                    // Listings change, with the spelling of all terms in each of the two organisations.
                    for (organisation, text) in ["a", "b"].into_iter().zip(texts) {
                        spellings.extend(WORDS.map(|word| ((Some(organisation), word.to_owned()), text)));
                    }
                    let rows: Vec<_> = (0..rng.random_range(1..4)).map(|_| random_row(rng)).collect();
                    for row in rows.iter().filter(|row| row.status != "draft" && row.status != "cancelled") {
                        // A listing is committed together with the spellings of its terms.
                        for term in [&row.breed, &row.breed_type, &row.breed_society].into_iter().flatten() {
                            spellings.entry((None, term.clone())).or_insert(texts[0]);
                        }
                    }
                    index.apply(changes(&rows, &spellings));
                    stored.extend(rows.into_iter().map(|row| (row.id, row)));
                }
                _ => {
                    let filters = requests.choose(rng).unwrap();
                    let mut new = FacetIndex::default();
                    new.apply(changes(stored.values(), &spellings));
                    let counted = facets(&new, filters);
                    assert!(index.cached(filters).is_none_or(|cached| cached == counted), "{seed}");
                    assert_eq!(facets(&index, filters), counted, "{seed}");
                    // A wishlist with all listings, which are looked up one by one.
                    let wishlist = Some(stored.keys().copied().collect::<Vec<_>>());
                    let matches = StoredMatches { wishlist, ..StoredMatches::default() };
                    assert_eq!(index.facets(filters, &matches, &CATEGORIES).unwrap(), counted, "{seed}");
                    assert_eq!(index.cached(filters), Some(counted), "{seed}");
                }
            }
        }
    }
}

/// Listings whose texts the database compares, against listings whose words the index has. The comparison of the other
/// texts would change no count and no page.
#[test]
fn the_compared_texts_suffice() {
    for seed in 0..256 {
        let rng = &mut StdRng::seed_from_u64(seed);
        let rows = (0..rng.random_range(0..30)).map(|_| (random_row(rng), rng.random()));
        let rows: BTreeMap<Id, (FacetColumns, bool)> = rows.map(|row| (row.0.id, row)).collect();
        let stored = index_of(rows.values().map(|(row, _)| row.clone()));
        let as_compared = |(row, is_long): &(FacetColumns, bool)| {
            if *is_long { with_long_text(row.clone()) } else { row.clone() }
        };
        let compared = index_of(rows.values().map(as_compared));
        for _ in 0..5 {
            let words: Vec<_> = one(rng, &WORDS).split(' ').map(str::to_owned).collect();
            let has_words =
                |id: &Id| has_all_words(rows[id].0.search_text.as_deref().unwrap_or_default(), &words);
            let search = ListingSearch { words: words.clone(), ..random_search(rng) };
            for filters in VIEWERS.map(|viewer| SearchFilters::for_viewer(viewer, &search)) {
                let ids = compared.long_texts_to_compare(&filters);
                assert!(ids.is_sorted());
                let long_texts: HashSet<_> = ids.into_iter().filter(has_words).collect();
                let matches = StoredMatches { wishlist: None, long_texts };
                let found = compared.facets(&filters, &matches, &CATEGORIES).unwrap();
                assert_eq!(found, facets(&stored, &filters), "{seed}");
                let [expected, found] = [&stored, &compared].map(|index| few(index.candidates(&filters, 30)));
                assert!(expected.iter().all(|id| found.contains(id)), "{seed}");
                assert!(found.iter().all(|id| rows[id].1 || expected.contains(id)), "{seed}");
            }
        }
    }
}

fn few(candidates: Candidates) -> Vec<Id> {
    match candidates {
        Candidates::Few(ids) => ids,
        Candidates::Unknown | Candidates::Many { .. } => panic!("{candidates:?}"),
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
        assert_eq!(index.long_texts_to_compare(&filters), of(counted), "{query}");
        assert_eq!(few(index.candidates(&filters, 4)), of(found), "{query}");
    }
    let many = index.candidates(&filters(VIEWERS[0], &json!({"query": "x"})), 0);
    assert_eq!(many, Candidates::Many { found: 1, of: 4 });
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

/// Listings whose breeds, societies, types and words change again and again do not make the index grow.
#[test]
fn unused_texts_are_removed() {
    let mut index = FacetIndex::default();
    for n in 0..2_000 {
        let breed = format!("new {n}");
        let spellings = vec![spelling(Some("a"), &breed, "Private"), spelling(None, &breed, "Public")];
        let changed = FacetColumns {
            breed_society: Some(format!("society {n}")),
            types: line(&format!("type {n}")),
            ..row(id(n % 2), &breed)
        };
        index.apply(ListingChanges { rows: vec![changed], spellings });
    }
    let sizes = index.sizes();
    assert!(sizes.iter().all(|size| *size <= 50), "{sizes:?}");
}

/// Listings of the first release have breeds of up to 200 characters, and with commas.
#[test]
fn lists_short_values_without_commas() {
    let short = "\u{1f404}".repeat(60);
    let breeds = ["texel, cross", "texel, cross", &short, &format!("{short}x")];
    let index = index_of((0..).zip(breeds).map(|(n, breed)| row(id(n), breed)));
    let response = facets(&index, &filters(VIEWERS[0], &json!({})));
    let response: Value = serde_json::from_str(&response).unwrap();
    assert_eq!(response["filters"]["f:commodityBreed"], json!([{"value": short, "count": 1}]));
    assert_eq!((&response["total"], &response["truncated"]), (&json!(4), &json!(true)));
}
