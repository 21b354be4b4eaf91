//! Compares 300 random searches and 200 searches for words of 2,000 listings with a naive model of the search: by
//! offset, by cursor, as CSV, and by facets; those of visitors without a token too.

pub mod farms;
pub mod naive;
mod public;

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

use self::farms::{FARMS, WISHER, one};
use self::naive::{RandomSearch, Viewer, expected, facets, filter_listings, haversine};
use crate::sample::{ids, start_with};

const SEARCHES: usize = 300;
const TEXT_SEARCHES: usize = 200;
/// Pages that are read by cursor.
const PAGES: usize = 3;

/// Returns the listings of the page of a path and of the next pages by cursor.
async fn walk(app: &App, token: Option<&str>, path: &str) -> Vec<Value> {
    let (mut seen, mut path) = (Vec::new(), path.to_owned());
    for _ in 0..PAGES {
        let request = app.get(&path);
        let reply = if let Some(token) = token { request.bearer(token) } else { request }.send().await;
        let next = reply.link("next");
        seen.extend(reply.ok().as_array().unwrap().clone());
        let Some(next) = next else { break };
        path = next;
    }
    seen
}

/// Returns the ids in a CSV export.
fn csv_ids(text: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.records().map(|row| row.unwrap()[0].to_owned()).collect()
}

fn part(all: &[String], offset: usize, limit: usize) -> Vec<String> {
    all.iter().skip(offset).take(limit).cloned().collect()
}

async fn compare(backend: Backend) {
    let app = start_with(backend, |settings| settings.public_listings = true).await;
    let mut rng = StdRng::seed_from_u64(20_261_122);
    let (all, wishlist) = farms::fill(&app, &mut rng).await;
    compare_searches(&app, &mut rng, &all, &wishlist, (SEARCHES, RandomSearch::new)).await;
    compare_searches(&app, &mut rng, &all, &wishlist, (TEXT_SEARCHES, RandomSearch::with_words)).await;
}

async fn compare_searches(
    app: &App,
    rng: &mut StdRng,
    all: &[Value],
    wishlist: &HashSet<String>,
    (searches, random_search): (usize, fn(&mut StdRng) -> RandomSearch),
) {
    let (mut hits, mut counted, active) = (0, 0, public::for_visitors(all));
    for _ in 0..searches {
        let viewer = Viewer {
            org: one(rng, &[FARMS[0], FARMS[1], FARMS[2], "stranger"]),
            admin: rng.random_bool(0.2),
        };
        let user = if viewer.admin { User::admin().with("org", viewer.org) } else { User::of(viewer.org) };
        let token = user.with("sub", WISHER).token();
        let requested = random_search(rng);
        let limit = rng.random_range(1..=40_usize);
        let filtered = filter_listings(all, wishlist, &requested);
        let found = expected(&filtered, viewer, &requested);
        hits += usize::from(!found.is_empty());
        let offset = rng.random_range(0..=found.len());
        let query = requested.query();

        let path = format!("/v1/listings?limit={limit}&offset={offset}&count=true&{query}");
        let first = app.get(&path).bearer(&token).send().await;
        assert_eq!(first.status, 200, "{path} {}", first.text());
        assert_eq!(first.header("x-total-count"), found.len().to_string(), "{path}");
        let seen = walk(app, Some(&token), &path).await;
        assert_eq!(ids(&json!(seen)), part(&found, offset, PAGES * limit), "{viewer:?} {path}");
        for listing in &seen {
            match (requested.point, haversine(listing, requested.point)) {
                (Some(_), Some(km)) => {
                    let shown = listing["distanceKm"].as_f64().unwrap();
                    assert!((shown - km).abs() < 0.01, "{shown} {km} {path}");
                }
                _ => assert_eq!(listing.get("distanceKm"), None, "{path}"),
            }
        }
        if rng.random_bool(0.3) {
            let path = format!("/v1/listings?format=csv&{query}");
            let csv = app.get(&path).bearer(&token).send().await;
            assert_eq!(csv_ids(&csv.text()), found, "{viewer:?} {path}");
        }
        let path = format!("/v1/listings?docs=false&{query}");
        let counts = app.get(&path).bearer(&token).send().await.ok();
        assert_eq!(counts, facets(&filtered, viewer), "{viewer:?} {path}");
        assert_eq!(counts["total"], found.len(), "{viewer:?} {path}");
        counted += usize::from(counts["total"] != 0);
        if rng.random_bool(0.4) {
            public::compare(app, &active, &requested, limit).await;
        }
    }
    assert!(
        hits > searches / 2 && counted > searches / 3,
        "most searches must find listings: {hits} {counted}"
    );
}

testkit::on_both! {
    async fn searches_and_facets_agree_with_the_model(backend) {
        compare(backend).await;
    }
}
