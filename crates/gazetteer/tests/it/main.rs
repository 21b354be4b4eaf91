//! Tests of the public API. `fixtures.py` writes `units.csv` and `nearest.csv` with the reference reader of the
//! postcodes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod countries;
mod grid;
mod nearest;
mod postcodes;
mod queries;
mod search;

use std::sync::LazyLock;

use gazetteer::{CountrySet, Gazetteer, Hit, SearchOptions};

static GAZETTEER: LazyLock<Gazetteer> = LazyLock::new(Gazetteer::open);

fn rows(csv: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.records().map(|row| row.unwrap().iter().map(Into::into).collect()).collect()
}

/// Searches with the preferred countries that the system service has by default.
fn search(text: &str) -> Vec<Hit> {
    search_preferring(&["GB", "IE", "GG", "IM", "JE"], text)
}

fn search_preferring(codes: &[&str], text: &str) -> Vec<Hit> {
    let preferred = CountrySet::of(codes.iter().copied());
    GAZETTEER.search(&SearchOptions { text: Some(text), preferred, limit: 100, ..SearchOptions::default() })
}

fn texts(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.text.as_str()).collect()
}
