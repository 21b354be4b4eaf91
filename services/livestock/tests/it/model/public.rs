//! The model of the search for visitors: active listings with rounded coordinates.

use std::collections::HashSet;

use serde_json::{Value, json};
use testkit::App;

use super::naive::{RandomSearch, Viewer, expected, facets, filter_listings, haversine};
use super::{csv_ids, part, walk};
use crate::sample::ids;

const VISITOR: Viewer = Viewer { org: "", admin: false };

/// Returns what visitors see of listings.
pub fn for_visitors(all: &[Value]) -> Vec<Value> {
    let round = |degrees: &Value| json!((degrees.as_f64().unwrap() * 100.0).round() / 100.0);
    let mut active: Vec<_> = all.iter().filter(|listing| listing["status"] == "active").cloned().collect();
    for listing in &mut active {
        if let Some(coordinates) = listing.pointer_mut("/location/coordinates") {
            *coordinates = json!({"lat": round(&coordinates["lat"]), "lon": round(&coordinates["lon"])});
        }
        if let Some(postcode) = listing.pointer_mut("/location/address/postcode") {
            // Only those in Wales are British.
            let outward = postcode.as_str().unwrap().split(' ').next().filter(|code| code.starts_with("LD"));
            *postcode = json!(outward.unwrap_or_default());
        }
    }
    active
}

/// Compares a search of visitors with the model. `active` are the listings that [`for_visitors`] returned.
pub async fn compare(app: &App, active: &[Value], requested: &RandomSearch, limit: usize) {
    if requested.filter("isWishlisted").is_some() {
        return;
    }
    let query = requested.query();
    if requested.filter("f:status").is_some_and(|status| !status.starts_with("active-")) {
        let path = format!("/v1/public/listings?{query}");
        assert_eq!(app.get(&path).send().await.errors(), ["f:status enum"], "{path}");
        return;
    }
    let filtered = filter_listings(active, &HashSet::new(), requested);
    let found = expected(&filtered, VISITOR, requested);
    let path = format!("/v1/public/listings?limit={limit}&count=true&{query}");
    let first = app.get(&path).send().await;
    assert_eq!(first.header("x-total-count"), found.len().to_string(), "{path}");
    let seen = walk(app, None, &path).await;
    let sorts_by_distance = requested.sort == "distance";
    if !sorts_by_distance {
        assert_eq!(ids(&json!(seen)), part(&found, 0, super::PAGES * limit), "{path}");
    }
    let distance = |listing: &Value| listing["distanceKm"].as_f64();
    for listing in &seen {
        let shown = requested.point.and_then(|_| distance(listing));
        let km = haversine(listing, requested.point);
        assert!(
            shown.zip(km).map_or(shown == km, |(shown, km)| (shown - km).abs() < 0.01),
            "{shown:?} {km:?} {path}"
        );
    }
    // Rounded coordinates have equal distances, which the model computes with other rounding errors.
    let known: Vec<_> = seen.iter().filter_map(distance).collect();
    let is_sorted = if requested.desc { known.is_sorted_by(|a, b| a >= b) } else { known.is_sorted() };
    assert!(is_sorted || !sorts_by_distance, "{known:?} {path}");

    let csv = app.get(&format!("/v1/public/listings?format=csv&{query}")).send().await;
    let (mut exported, mut all) = (csv_ids(&csv.text()), found.clone());
    if sorts_by_distance {
        exported.sort();
        all.sort();
    }
    assert_eq!(exported, all, "{path}");
    let counts = app.get(&format!("/v1/public/listings?docs=false&{query}")).send().await.ok();
    assert_eq!(counts, facets(&filtered, VISITOR), "{path}");
}
