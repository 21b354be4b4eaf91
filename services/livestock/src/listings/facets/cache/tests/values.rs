//! Tests of the listed values, and of the influence of other organisations on cached facets.

use super::*;
use crate::listings::facets::response::MAX_VALUES;

/// 10,500 listings with breeds of 200 characters once led to responses of 15.7 MiB, which were not cached. New breeds
/// have at most 60 characters.
#[test]
fn many_long_breeds_do_not_prevent_caching() {
    for (chars, listed) in [(200, 0), (60, 1_000)] {
        let mut index = CachingIndex::default();
        let text = |n: usize, name: &str| format!("{name}{n:06}{}", "\u{1f404}".repeat(chars - 7));
        let rows = (0..10_500)
            .map(|n| FacetColumns { breed_society: Some(text(n, "s")), ..row(id(n), &text(n, "b")) });
        index.insert(&rows.collect::<Vec<_>>());
        let response = get_or_count(&index, &of_everything());
        assert!(response.len() < 300_000, "{}", response.len());
        assert_eq!(response.matches("\u{1f404}\"").count(), listed);
        assert!(response.ends_with("\"total\":10500,\"truncated\":true}"));
        assert_eq!(get_or_count(&index, &of_everything()), response);
        let bytes = index.cache.0.lock().bytes;
        assert!(bytes > response.len() && bytes < 1 << 20, "{bytes}");
    }
}

#[test]
fn lists_the_most_frequent_values() {
    let mut index = index_of_breeds(MAX_VALUES + 1);
    index.insert(&[row(id(9_000), "breed 7"), row(id(9_001), "breed 500")]);
    let response: serde_json::Value = serde_json::from_str(&get_or_count(&index, &of_everything())).unwrap();
    let values = response["filters"]["f:commodityBreed"].as_array().unwrap();
    let counts: Vec<_> = values.iter().map(|value| value["count"].as_u64().unwrap()).collect();
    assert_eq!((counts.len(), &counts[..3]), (MAX_VALUES, &[2, 2, 1][..]));
    assert_eq!([&values[0]["value"], &values[1]["value"]], ["breed 500", "breed 7"]);
    assert_eq!(response["truncated"], true);
}

#[test]
fn omits_values_with_commas() {
    let mut index = CachingIndex::default();
    index.insert(&[row(id(1), "texel, cross"), row(id(2), "texel, cross"), row(id(3), "texel")]);
    let response: serde_json::Value = serde_json::from_str(&get_or_count(&index, &of_everything())).unwrap();
    assert_eq!(response["filters"]["f:commodityBreed"], json!([{"value": "texel", "count": 1}]));
    assert_eq!((&response["total"], &response["truncated"]), (&json!(3), &json!(true)));
}

/// Drafts of one organisation with terms of their own do not make cached facets of others larger or slower to update.
#[test]
fn private_terms_do_not_grow_the_cached_facets_of_others() {
    let searches = [json!({}), json!({"f:commodityBreed": ["breed 1", "new"]})];
    let searches = searches.map(|query| ExactFilters::of(VIEWERS[2], &search(&query)));
    let mut bytes = Vec::new();
    for drafts in [0, 4_000] {
        let mut index = index_of_breeds(10);
        let text = |n: usize, name: &str| Some(format!("{name}{n:06}{}", "x".repeat(50)));
        let private = (0..drafts).map(|n| FacetColumns {
            organisation_id: "private".to_owned(),
            status: "draft".to_owned(),
            breed: text(n, "b"),
            breed_type: text(n, "t"),
            breed_society: text(n, "s"),
            ..row(id(1_000 + n), "")
        });
        index.insert(&private.collect::<Vec<_>>());
        for exact in &searches {
            get_or_count(&index, exact);
        }
        index.insert(&[row(id(50), "new")]);
        for exact in &searches {
            let cached = try_get(&index, exact);
            assert!(cached.is_some_and(|cached| cached.contains("\"new\"")), "updated inline");
        }
        bytes.push(index.cache.0.lock().bytes);
    }
    assert_eq!(bytes[0], bytes[1]);
}
