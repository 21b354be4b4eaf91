mod values;

use std::collections::{BTreeMap, HashSet};
use std::sync::{LazyLock, PoisonError};

use common::Format;
use common::validation::ValidationErrors;
use database::Id;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::super::super::search::{ListingSearchParams, Search};
use super::super::super::search_fields::line;
use super::super::super::store::ROW_VERSION;
use super::super::exact::Viewer;
use super::super::index::{MAX_UNUSED_TEXTS, REMEMBERED};
use super::super::store::{Changes, PrivateSpelling, Row};
use super::super::terms::UNKNOWN;
use super::super::{FacetService, MAX_VALUES};
use super::*;

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

/// An active listing.
fn row(id: Id, breed: &str) -> Row {
    Row {
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

fn search(query: &serde_json::Value) -> Search {
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

/// Any state of one of twelve listings.
fn any_row() -> impl Strategy<Value = Row> {
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
    let what = (0..12_usize, state, select(vec!["selling", "buying"]), 1..=5, select(vec!["a", "b"]));
    let named = [prop::option::of(word()), prop::option::of(word()), prop::option::of(word())];
    let flags = (lines(&["store", "calves"]), lines(&["ewes", "cows"]), lines(&["organic", "named-sire"]));
    (what, named, flags).prop_map(
        |(
            (n, (status, cancelled_as_draft), kind, category, organisation),
            named,
            (types, sexes, additional_info),
        )| {
            let [breed, breed_type, breed_society] = named;
            Row {
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

fn any_search() -> impl Strategy<Value = Search> {
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
    Change(Vec<Row>),
    Spell(String, String),
    /// Of the searches, one.
    Ask(prop::sample::Index),
    /// More changes than are remembered.
    Forget,
    /// Texts that no listing has are forgotten.
    ForgetUnused,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens between two questions, what is kept says what counting from nothing does.
    #[test]
    fn what_is_kept_is_as_counted_anew(
        searches in prop::collection::vec(any_search(), 1..6),
        steps in prop::collection::vec(prop_oneof![
            10 => prop::collection::vec(any_row(), 1..4).prop_map(Step::Change),
            2 => (word(), select(vec!["Texel", "CROSS", "x"])).prop_map(|(a, b)| Step::Spell(a, b.to_owned())),
            10 => any::<prop::sample::Index>().prop_map(Step::Ask),
            1 => Just(Step::Forget),
            2 => Just(Step::ForgetUnused),
        ], 1..60),
    ) {
        let (mut index, mut rows, mut spellings) = (Index::default(), BTreeMap::new(), BTreeMap::new());
        let of_all = |search| VIEWERS.map(|viewer| (viewer, search));
        let all = searches.iter().flat_map(of_all).collect::<Vec<_>>();
        for step in steps {
            match step {
                Step::Change(changed) => {
                    index.insert(&changed);
                    rows.extend(changed.into_iter().map(|row| (row.id, row)));
                    // With a listing its spellings are read.
                    index.spell(spellings.clone().into_iter().collect());
                }
                Step::Spell(term, spelling) => {
                    index.spell(vec![(term.clone(), spelling.clone())]);
                    spellings.insert(term, spelling);
                }
                Step::Ask(which) => {
                    let (viewer, search) = *which.get(&all);
                    let exact = &ExactFilters::of(viewer, search);
                    let mut anew = Index::default();
                    anew.insert(&rows.values().cloned().collect::<Vec<_>>());
                    anew.spell(spellings.clone().into_iter().collect());
                    let counted = FacetCache::default().facets(exact.clone(), &anew, &CATEGORIES).unwrap();
                    let shelf = &index.shelf;
                    let known = shelf.known(exact, &index, &CATEGORIES).unwrap();
                    prop_assert!(known.is_none_or(|known| known == counted));
                    prop_assert_eq!(&shelf.facets(exact.clone(), &index, &CATEGORIES).unwrap(), &counted);
                    // A wishlist of all listings, which is counted another way.
                    let ids = rows.keys().copied().collect::<Vec<_>>();
                    let wished = index.facets(viewer, search, Some(&ids), &CATEGORIES).unwrap();
                    prop_assert_eq!(&wished, &counted);
                    prop_assert_eq!(shelf.known(exact, &index, &CATEGORIES).unwrap(), Some(counted));
                }
                Step::ForgetUnused => index.forget_unused(),
                Step::Forget => {
                    for n in 0..=REMEMBERED {
                        let row = row(id(0), WORDS[n % 2]);
                        index.insert(std::slice::from_ref(&row));
                        rows.insert(row.id, row);
                    }
                    index.spell(spellings.clone().into_iter().collect());
                }
            }
        }
    }
}

/// A table of so many breeds, each of one listing.
fn of_breeds(breeds: usize) -> Index {
    let mut index = Index::default();
    index.insert(&(0..breeds).map(|n| row(id(n), &format!("breed {n}"))).collect::<Vec<_>>());
    index
}

fn of_breed(n: usize) -> ExactFilters {
    ExactFilters::of(VIEWERS[0], &search(&json!({"f:commodityBreed": [format!("breed {n}")]})))
}

#[test]
fn what_is_kept_stays_within_its_limits() {
    // The number is the limit; then bytes are.
    for (breeds, asked, kept) in [(10, MOST + 50, MOST..=MOST), (15_000, 200, 50..=150)] {
        let (index, shelf) = (of_breeds(breeds), FacetCache::default());
        for n in 0..asked {
            let answer = shelf.facets(of_breed(n), &index, &CATEGORIES).unwrap();
            let truncated = if breeds > MAX_VALUES { ",\"truncated\":true" } else { "" };
            let end = format!("\"total\":{}{truncated}}}", u8::from(n < breeds));
            assert!(answer.ends_with(&end), "{n} {answer}");
        }
        let places = lock(&shelf.0);
        assert!(kept.contains(&places.by_filters.len()), "{breeds} {}", places.by_filters.len());
        let bytes: usize = places.by_filters.values().map(|place| place.bytes).sum();
        assert!(bytes == places.bytes && bytes <= MOST_BYTES, "{bytes} {}", places.bytes);
        drop(places);
        let known = |n| shelf.known(&of_breed(n), &index, &CATEGORIES).unwrap().is_some();
        assert!(!known(0) && known(asked - 1), "those asked for last");
    }
    let (index, shelf) = (of_breeds(1), FacetCache::default());
    let large = search(&json!({"f:commodityBreed": ["x".repeat(MOST_BYTES / 4)]}));
    shelf.facets(ExactFilters::of(VIEWERS[0], &large), &index, &CATEGORIES).unwrap();
    assert_eq!(lock(&shelf.0).by_filters.len(), 0, "one is too large");
}

#[test]
fn changes_are_followed_and_too_many_are_counted_anew() {
    let (mut index, shelf) = (of_breeds(2), FacetCache::default());
    let total = |answer: &str| answer.rsplit(':').next().unwrap().to_owned();
    let known = |index: &Index, n| shelf.known(&of_breed(n), index, &CATEGORIES).unwrap();
    assert_eq!(known(&index, 0), None);
    shelf.facets(of_breed(0), &index, &CATEGORIES).unwrap();
    for n in 0..REMEMBERED {
        index.insert(&[row(id(n % 2), &format!("breed {}", n % 3))]);
    }
    assert_eq!(known(&index, 0), None, "more than is done between requests");
    assert_eq!(total(&shelf.facets(of_breed(0), &index, &CATEGORIES).unwrap()), "1}");
    let answer = known(&index, 0).unwrap();
    index.insert(&[row(id(7), "breed 9")]);
    assert_ne!(known(&index, 0).unwrap(), answer, "its breed would leave it");
    for n in 100..=REMEMBERED + 100 {
        index.insert(&[row(id(n), "breed 0")]);
    }
    assert_eq!(known(&index, 0), None);
    let counted = shelf.facets(of_breed(0), &index, &CATEGORIES).unwrap();
    assert_eq!(total(&counted), format!("{}}}", REMEMBERED + 2));
}

/// Listings whose breeds, societies and types are changed again and again do not make the table grow for ever.
#[test]
fn texts_that_no_listing_has_any_more_are_forgotten() {
    let mut index = of_breeds(100);
    let texts = |index: &Index| index.texts.terms.len() + index.texts.types.len();
    index.spell(vec![
        ("breed 7".to_owned(), "Breed 7".to_owned()),
        ("unknown".to_owned(), "Unknown".to_owned()),
    ]);
    let (used, mut most, mut forgotten) = (texts(&index), 0, 0);
    for n in 0..2 * MAX_UNUSED_TEXTS {
        let breed = format!("new {n}");
        let before = texts(&index);
        let (breed_society, types) = (Some(format!("society {n}")), line(&format!("type {n}")));
        index.insert(&[Row { breed_society, types, ..row(id(100 + n % 2), &breed) }]);
        index.spell(vec![(breed.clone(), breed.to_uppercase())]);
        index.spell_privately(vec![PrivateSpelling {
            organisation_id: "a".to_owned(),
            term: breed.clone(),
            spelling: breed,
        }]);
        most = most.max(texts(&index));
        forgotten += usize::from(texts(&index) < before);
    }
    assert!(forgotten >= 5, "{forgotten}");
    assert!(most <= MAX_UNUSED_TEXTS + 2 * (used + 6) + 3, "{most}");
    index.forget_unused();
    // Two listings have three each.
    assert_eq!(texts(&index), used + 6);
    assert_eq!(index.texts.terms.find("new 7"), UNKNOWN);

    let everything = || ExactFilters::of(VIEWERS[0], &search(&json!({})));
    let answer = index.shelf.facets(everything(), &index, &CATEGORIES).unwrap();
    let mut anew = of_breeds(100);
    for n in 2 * MAX_UNUSED_TEXTS - 2..2 * MAX_UNUSED_TEXTS {
        let (breed_society, types) = (Some(format!("society {n}")), line(&format!("type {n}")));
        anew.insert(&[Row { breed_society, types, ..row(id(100 + n % 2), &format!("new {n}")) }]);
        anew.spell(vec![(format!("new {n}"), format!("NEW {n}"))]);
    }
    anew.spell(vec![("breed 7".to_owned(), "Breed 7".to_owned())]);
    assert_eq!(answer, anew.shelf.facets(everything(), &anew, &CATEGORIES).unwrap());
    assert!(answer.contains("\"Breed 7\"") && answer.contains("NEW 19999"), "{answer}");
}

/// When the request that asked was given up, nobody waits for what it read: later readings may be there first.
#[test]
fn an_overtaken_reading_is_not_taken() {
    let follower = FacetService::default();
    let read = |breed| Changes {
        position: 1,
        known: HashSet::from([1]),
        rows: vec![row(id(1), breed)],
        spellings: Vec::new(),
        private_spellings: Vec::new(),
    };
    follower.apply(2, read("texel"));
    follower.apply(1, read("hereford"));
    let index = follower.index.read().unwrap_or_else(PoisonError::into_inner);
    let answer = FacetCache::default()
        .facets(ExactFilters::of(VIEWERS[0], &search(&json!({}))), &index, &CATEGORIES)
        .unwrap();
    assert!(answer.contains("texel") && !answer.contains("hereford"), "{answer}");
}
