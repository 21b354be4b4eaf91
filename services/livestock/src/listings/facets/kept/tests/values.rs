//! The values that an answer lists, and what others may make of it.

use super::*;

/// 10,500 listings with breeds of 200 characters once made each answer 15.7 MiB, which was not kept. New breeds have at most
#[test]
fn many_long_breeds_neither_grow_the_answer_nor_stop_it_from_being_kept() {
    let everything = || ExactFilters::of(VIEWERS[0], &search(&json!({})));
    for (chars, listed) in [(200, 0), (60, 1_000)] {
        let mut index = Index::default();
        let text = |n: usize, name: &str| format!("{name}{n:06}{}", "\u{1f404}".repeat(chars - 7));
        let rows =
            (0..10_500).map(|n| Row { breed_society: Some(text(n, "s")), ..row(id(n), &text(n, "b")) });
        index.insert(&rows.collect::<Vec<_>>());
        let shelf = FacetCache::default();
        let answer = shelf.facets(everything(), &index, &CATEGORIES).unwrap();
        assert!(answer.len() < 300_000, "{}", answer.len());
        assert_eq!(answer.matches("\u{1f404}\"").count(), listed);
        assert!(answer.ends_with("\"total\":10500,\"truncated\":true}"));
        assert_eq!(shelf.facets(everything(), &index, &CATEGORIES).unwrap(), answer);
        let kept = lock(&shelf.0).bytes;
        assert!(kept > answer.len() && kept < 1 << 20, "{kept}");
    }
}

#[test]
fn the_most_frequent_values_are_listed() {
    let mut index = of_breeds(MAX_VALUES + 1);
    let rare = [row(id(9_000), "breed 7"), row(id(9_001), "breed 500")];
    index.insert(&rare);
    let everything = ExactFilters::of(VIEWERS[0], &search(&json!({})));
    let answer = FacetCache::default().facets(everything, &index, &CATEGORIES).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let values = answer["filters"]["f:commodityBreed"].as_array().unwrap();
    let counts: Vec<_> = values.iter().map(|value| value["count"].as_u64().unwrap()).collect();
    assert_eq!((counts.len(), &counts[..3]), (MAX_VALUES, &[2, 2, 1][..]));
    assert_eq!([&values[0]["value"], &values[1]["value"]], ["breed 500", "breed 7"]);
    assert_eq!(answer["truncated"], true);
}

#[test]
fn values_with_commas_are_left_out() {
    let mut index = Index::default();
    index.insert(&[row(id(1), "texel, cross"), row(id(2), "texel, cross"), row(id(3), "texel")]);
    let everything = ExactFilters::of(VIEWERS[0], &search(&json!({})));
    let answer = FacetCache::default().facets(everything, &index, &CATEGORIES).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["filters"]["f:commodityBreed"], json!([{"value": "texel", "count": 1}]));
    assert_eq!((&answer["total"], &answer["truncated"]), (&json!(3), &json!(true)));
}

/// Drafts of one organisation with terms of their own: the answers of others stay as small and as cheap to follow.
#[test]
fn private_terms_of_others_do_not_grow_what_is_kept() {
    let searches = [json!({}), json!({"f:commodityBreed": ["breed 1", "new"]})];
    let searches = searches.map(|query| ExactFilters::of(VIEWERS[2], &search(&query)));
    let mut bytes = Vec::new();
    for drafts in [0, 4_000] {
        let mut index = of_breeds(10);
        let text = |n: usize, name: &str| Some(format!("{name}{n:06}{}", "x".repeat(50)));
        let private = (0..drafts).map(|n| Row {
            organisation_id: "private".to_owned(),
            status: "draft".to_owned(),
            breed: text(n, "b"),
            breed_type: text(n, "t"),
            breed_society: text(n, "s"),
            ..row(id(1_000 + n), "")
        });
        index.insert(&private.collect::<Vec<_>>());
        let shelf = FacetCache::default();
        for exact in &searches {
            shelf.facets(exact.clone(), &index, &CATEGORIES).unwrap();
        }
        index.insert(&[row(id(50), "new")]);
        for exact in &searches {
            let known = shelf.known(exact, &index, &CATEGORIES).unwrap();
            assert!(known.is_some_and(|known| known.contains("\"new\"")), "followed between requests");
        }
        bytes.push(lock(&shelf.0).bytes);
    }
    assert_eq!(bytes[0], bytes[1]);
}
