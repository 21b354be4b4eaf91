//! Tests of the limits of the cache and of the index below it.

use super::*;
use crate::listings::facets::cache::entries::{MAX_BYTES, MAX_ENTRIES};
use crate::listings::facets::index::MAX_UNUSED_TEXTS;
use crate::listings::facets::interner::UNKNOWN;
use crate::listings::facets::model::PrivateSpelling;
use crate::listings::facets::response::MAX_VALUES;
use crate::listings::search_fields::line;

#[test]
fn the_cache_stays_within_its_limits() {
    // The first case reaches the limit of entries, the second the limit of bytes.
    for (breeds, requested, retained) in
        [(10, MAX_ENTRIES + 50, MAX_ENTRIES..=MAX_ENTRIES), (15_000, 200, 50..=150)]
    {
        let index = index_of_breeds(breeds);
        for n in 0..requested {
            let response = get_or_count(&index, &of_breed(n));
            let truncated = if breeds > MAX_VALUES { ",\"truncated\":true" } else { "" };
            let end = format!("\"total\":{}{truncated}}}", u8::from(n < breeds));
            assert!(response.ends_with(&end), "{n} {response}");
        }
        let entries = index.cache.0.lock();
        assert!(retained.contains(&entries.by_filters.len()), "{breeds} {}", entries.by_filters.len());
        let bytes: usize = entries.by_filters.values().map(|entry| entry.bytes).sum();
        assert!(bytes == entries.bytes && bytes <= MAX_BYTES, "{bytes} {}", entries.bytes);
        drop(entries);
        let is_cached = |n| try_get(&index, &of_breed(n)).is_some();
        assert!(!is_cached(0) && is_cached(requested - 1), "evicts the least recently used entries");
    }
    let index = index_of_breeds(1);
    let large = search(&json!({"f:commodityBreed": ["x".repeat(MAX_BYTES / 4)]}));
    get_or_count(&index, &ExactFilters::of(VIEWERS[0], &large));
    assert_eq!(index.cache.0.lock().by_filters.len(), 0, "the entry is too large");
}

#[test]
fn applies_few_changes_and_counts_from_scratch_after_many() {
    let mut index = index_of_breeds(2);
    let total = |response: &str| response.rsplit(':').next().unwrap().to_owned();
    assert_eq!(try_get(&index, &of_breed(0)), None);
    get_or_count(&index, &of_breed(0));
    for n in 0..MAX_CHANGES {
        index.insert(&[row(id(n % 2), &format!("breed {}", n % 3))]);
    }
    assert_eq!(try_get(&index, &of_breed(0)), None, "more changes than a request applies inline");
    assert_eq!(total(&get_or_count(&index, &of_breed(0))), "1}");
    let response = try_get(&index, &of_breed(0)).unwrap();
    index.insert(&[row(id(7), "breed 9")]);
    assert_ne!(try_get(&index, &of_breed(0)).unwrap(), response, "the facet of breeds has the new breed");
    for n in 100..=MAX_CHANGES + 100 {
        index.insert(&[row(id(n), "breed 0")]);
    }
    assert_eq!(try_get(&index, &of_breed(0)), None);
    assert_eq!(total(&get_or_count(&index, &of_breed(0))), format!("{}}}", MAX_CHANGES + 2));
}

/// Listings whose breeds, societies and types change again and again do not make the index grow without limit.
#[test]
fn unused_texts_are_removed() {
    let mut index = index_of_breeds(100);
    let texts = |index: &CachingIndex| index.inner.texts.terms.len() + index.inner.texts.types.len();
    index.add_spellings(vec![
        ("breed 7".to_owned(), "Breed 7".to_owned()),
        ("unknown".to_owned(), "Unknown".to_owned()),
    ]);
    let (used, mut max, mut removals) = (texts(&index), 0, 0);
    for n in 0..2 * MAX_UNUSED_TEXTS {
        let breed = format!("new {n}");
        let before = texts(&index);
        let (breed_society, types) = (Some(format!("society {n}")), line(&format!("type {n}")));
        index.insert(&[FacetColumns { breed_society, types, ..row(id(100 + n % 2), &breed) }]);
        index.add_spellings(vec![(breed.clone(), breed.to_uppercase())]);
        index.add_private_spellings(vec![PrivateSpelling {
            organisation_id: "a".to_owned(),
            term: breed.clone(),
            spelling: breed,
        }]);
        max = max.max(texts(&index));
        removals += usize::from(texts(&index) < before);
    }
    assert!(removals >= 5, "{removals}");
    assert!(max <= MAX_UNUSED_TEXTS + 2 * (used + 6) + 3, "{max}");
    index.inner.remove_unused_texts();
    index.cache = FacetCache::default();
    // Two listings have three each.
    assert_eq!(texts(&index), used + 6);
    assert_eq!(index.inner.texts.terms.find("new 7"), UNKNOWN);

    let response = get_or_count(&index, &of_everything());
    let mut new_index = index_of_breeds(100);
    for n in 2 * MAX_UNUSED_TEXTS - 2..2 * MAX_UNUSED_TEXTS {
        let (breed_society, types) = (Some(format!("society {n}")), line(&format!("type {n}")));
        new_index.insert(&[FacetColumns {
            breed_society,
            types,
            ..row(id(100 + n % 2), &format!("new {n}"))
        }]);
        new_index.add_spellings(vec![(format!("new {n}"), format!("NEW {n}"))]);
    }
    new_index.add_spellings(vec![("breed 7".to_owned(), "Breed 7".to_owned())]);
    assert_eq!(response, get_or_count(&new_index, &of_everything()));
    assert!(response.contains("\"Breed 7\"") && response.contains("NEW 19999"), "{response}");
}

#[test]
fn inserting_clears_the_cache_when_it_removes_texts() {
    let mut index = index_of_breeds(2);
    get_or_count(&index, &of_everything());
    assert_eq!(index.cache.0.lock().by_filters.len(), 1);
    let rows: Vec<_> = (0..=MAX_UNUSED_TEXTS).map(|n| row(id(7), &format!("new {n}"))).collect();
    index.insert(&rows);
    assert_eq!(index.cache.0.lock().by_filters.len(), 0);
    assert!(get_or_count(&index, &of_everything()).ends_with("\"total\":3}"));
}
