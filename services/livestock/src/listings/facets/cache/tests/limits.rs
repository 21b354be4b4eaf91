//! Tests of the limits of the cache and of the index below it.

use super::*;
use crate::listings::facets::cache::entries::{MAX_BYTES, MAX_ENTRIES};
use crate::listings::facets::index::MAX_UNUSED_TEXTS;
use crate::listings::facets::interner::UNKNOWN;
use crate::listings::facets::model::PrivateSpelling;
use crate::listings::facets::response::MAX_VALUES;

#[test]
fn the_cache_stays_within_its_limits() {
    // The first case reaches the limit of entries, the second the limit of bytes.
    for (breeds, requested, retained) in
        [(10, MAX_ENTRIES + 50, MAX_ENTRIES..=MAX_ENTRIES), (15_000, 200, 50..=150)]
    {
        let table = table_of_breeds(breeds);
        for n in 0..requested {
            let response = get_or_count(&table, &of_breed(n));
            let truncated = if breeds > MAX_VALUES { ",\"truncated\":true" } else { "" };
            let end = format!("\"total\":{}{truncated}}}", u8::from(n < breeds));
            assert!(response.ends_with(&end), "{n} {response}");
        }
        let entries = table.cache.0.lock();
        assert!(retained.contains(&entries.by_filters.len()), "{breeds} {}", entries.by_filters.len());
        let bytes: usize = entries.by_filters.values().map(|entry| entry.bytes).sum();
        assert!(bytes == entries.bytes && bytes <= MAX_BYTES, "{bytes} {}", entries.bytes);
        drop(entries);
        let is_cached = |n| try_get(&table, &of_breed(n)).is_some();
        assert!(!is_cached(0) && is_cached(requested - 1), "evicts the least recently used entries");
    }
    let table = table_of_breeds(1);
    let large = search(&json!({"f:commodityBreed": ["x".repeat(MAX_BYTES / 4)]}));
    get_or_count(&table, &ExactFilters::of(VIEWERS[0], &large));
    assert_eq!(table.cache.0.lock().by_filters.len(), 0, "the entry is too large");
}

#[test]
fn applies_few_changes_and_counts_from_scratch_after_many() {
    let mut table = table_of_breeds(2);
    let total = |response: &str| response.rsplit(':').next().unwrap().to_owned();
    assert_eq!(try_get(&table, &of_breed(0)), None);
    get_or_count(&table, &of_breed(0));
    for n in 0..MAX_CHANGES {
        table.insert(&[row(id(n % 2), &format!("breed {}", n % 3))]);
    }
    assert_eq!(try_get(&table, &of_breed(0)), None, "more changes than a request applies inline");
    assert_eq!(total(&get_or_count(&table, &of_breed(0))), "1}");
    let response = try_get(&table, &of_breed(0)).unwrap();
    table.insert(&[row(id(7), "breed 9")]);
    assert_ne!(try_get(&table, &of_breed(0)).unwrap(), response, "the facet of breeds has the new breed");
    for n in 100..=MAX_CHANGES + 100 {
        table.insert(&[row(id(n), "breed 0")]);
    }
    assert_eq!(try_get(&table, &of_breed(0)), None);
    assert_eq!(total(&get_or_count(&table, &of_breed(0))), format!("{}}}", MAX_CHANGES + 2));
}

/// Listings whose breeds, societies and types change again and again do not make the index grow without limit.
#[test]
fn unused_texts_are_removed() {
    let mut table = table_of_breeds(100);
    let texts = |table: &FacetTable| table.index.texts.terms.len() + table.index.texts.types.len();
    table.add_spellings(vec![
        ("breed 7".to_owned(), "Breed 7".to_owned()),
        ("unknown".to_owned(), "Unknown".to_owned()),
    ]);
    let (used, mut max, mut removals) = (texts(&table), 0, 0);
    for n in 0..2 * MAX_UNUSED_TEXTS {
        let breed = format!("new {n}");
        let before = texts(&table);
        let (breed_society, types) = (Some(format!("society {n}")), line(&format!("type {n}")));
        table.insert(&[FacetColumns { breed_society, types, ..row(id(100 + n % 2), &breed) }]);
        table.add_spellings(vec![(breed.clone(), breed.to_uppercase())]);
        table.add_private_spellings(vec![PrivateSpelling {
            organisation_id: "a".to_owned(),
            term: breed.clone(),
            spelling: breed,
        }]);
        max = max.max(texts(&table));
        removals += usize::from(texts(&table) < before);
    }
    assert!(removals >= 5, "{removals}");
    assert!(max <= MAX_UNUSED_TEXTS + 2 * (used + 6) + 3, "{max}");
    table.index.remove_unused_texts();
    table.cache = FacetCache::default();
    // Two listings have three each.
    assert_eq!(texts(&table), used + 6);
    assert_eq!(table.index.texts.terms.find("new 7"), UNKNOWN);

    let response = get_or_count(&table, &of_everything());
    let mut new_table = table_of_breeds(100);
    for n in 2 * MAX_UNUSED_TEXTS - 2..2 * MAX_UNUSED_TEXTS {
        let (breed_society, types) = (Some(format!("society {n}")), line(&format!("type {n}")));
        new_table.insert(&[FacetColumns {
            breed_society,
            types,
            ..row(id(100 + n % 2), &format!("new {n}"))
        }]);
        new_table.add_spellings(vec![(format!("new {n}"), format!("NEW {n}"))]);
    }
    new_table.add_spellings(vec![("breed 7".to_owned(), "Breed 7".to_owned())]);
    assert_eq!(response, get_or_count(&new_table, &of_everything()));
    assert!(response.contains("\"Breed 7\"") && response.contains("NEW 19999"), "{response}");
}

#[test]
fn inserting_clears_the_cache_when_it_removes_texts() {
    let mut table = table_of_breeds(2);
    get_or_count(&table, &of_everything());
    assert_eq!(table.cache.0.lock().by_filters.len(), 1);
    let rows: Vec<_> = (0..=MAX_UNUSED_TEXTS).map(|n| row(id(7), &format!("new {n}"))).collect();
    table.insert(&rows);
    assert_eq!(table.cache.0.lock().by_filters.len(), 0);
    assert!(get_or_count(&table, &of_everything()).ends_with("\"total\":3}"));
}
