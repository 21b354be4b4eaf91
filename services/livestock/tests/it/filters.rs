//! Filters of the search at the limits of their values.

use serde_json::json;
use testkit::User;

use crate::sample::{create, plain, search, start, with};

testkit::on_both! {
    /// The squares of these differences would underflow.
    async fn finds_listings_at_tiny_distances(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let tiny = json!({"coordinates": {"lat": 1e-200, "lon": 1e-320}});
        let id = create(&app, &a, &with(plain(&json!({})), "/location", tiny)).await;
        for query in ["latitude=0&longitude=0", "latitude=0&longitude=0&distanceKm=0.001", "latitude=1e-200&longitude=0"] {
            assert_eq!(search(&app, &a, query).await, std::slice::from_ref(&id), "{query}");
        }
    }

    async fn ages_may_equal_the_limits(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        let both = create(&app, &a, &plain(&json!({"minAge": 6, "maxAge": 9}))).await;
        let from = create(&app, &a, &plain(&json!({"minAge": 6.5}))).await;
        let to = create(&app, &a, &plain(&json!({"maxAge": 24}))).await;
        for (query, expected) in [
            ("minAge=6", &[&both, &from][..]),
            ("minAge=6.25", &[&from]),
            ("maxAge=9", &[&both]),
            ("maxAge=1000000000000", &[&both, &to]),
            ("minAge=0&maxAge=600", &[&both]),
        ] {
            let expected: Vec<_> = expected.iter().map(|id| (*id).clone()).collect();
            assert_eq!(search(&app, &a, &format!("sortDesc=false&{query}")).await, expected, "{query}");
        }
    }
}
