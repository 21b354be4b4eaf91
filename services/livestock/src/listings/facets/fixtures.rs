//! Listings and searches for tests of facets.

use std::sync::LazyLock;

use common::Format;
use common::validation::ValidationErrors;
use database::Id;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::exact_filters::Viewer;
use super::model::FacetColumns;
use crate::categories::Categories;
use crate::listings::search::{ListingSearch, ListingSearchParams};
use crate::listings::search_fields::line;
use crate::listings::store::ROW_VERSION;

pub(crate) const VIEWERS: [Viewer<'static>; 3] = [
    Viewer { organisation_id: "a", admin: false },
    Viewer { organisation_id: "b", admin: true },
    Viewer { organisation_id: "", admin: false },
];

pub(crate) const WORDS: [&str; 4] = ["hereford", "texel", "cross", "our own"];

pub(crate) fn id(n: usize) -> Id {
    Id::parse(&format!("00000000-0000-7000-8000-{n:012}")).unwrap()
}

pub(crate) static CATEGORIES: LazyLock<Categories> = LazyLock::new(|| Categories::open(None).unwrap());

/// Returns an active listing.
pub(crate) fn row(id: Id, breed: &str) -> FacetColumns {
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

pub(crate) fn search(query: &serde_json::Value) -> ListingSearch {
    let parameters: ListingSearchParams = serde_json::from_value(query.clone()).unwrap();
    let mut errors = ValidationErrors::default();
    let search = parameters.parse(Format::Json, &CATEGORIES, &mut errors);
    assert!(errors.is_empty(), "{query}");
    search
}

pub(crate) fn word() -> impl Strategy<Value = String> {
    select(&WORDS[..]).prop_map(str::to_owned)
}

fn lines(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::option::of(select(words)).prop_map(|word| word.map(line).unwrap_or_default())
}

/// Generates any state of one of twelve listings.
pub(crate) fn any_row() -> impl Strategy<Value = FacetColumns> {
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

pub(crate) fn any_search() -> impl Strategy<Value = ListingSearch> {
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
