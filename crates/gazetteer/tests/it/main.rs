//! The library as its users see it. `units.csv` and `nearest.csv` are what the reference reader of the postcodes says
//! (`fixtures.py`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod countries;
mod grid;
mod nearest;
mod postcodes;
mod search;

use std::sync::LazyLock;

use gazetteer::{CountrySet, Gazetteer, Hit, Search};

static GAZETTEER: LazyLock<Gazetteer> = LazyLock::new(Gazetteer::open);

fn rows(csv: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.records().map(|row| row.unwrap().iter().map(Into::into).collect()).collect()
}

/// As the system service searches, by default.
fn search(text: &str) -> Vec<Hit> {
    preferring(&["GB", "IE"], text)
}

fn preferring(codes: &[&str], text: &str) -> Vec<Hit> {
    let preferred = CountrySet::of(codes.iter().copied());
    GAZETTEER.search(&Search { text: Some(text), preferred, limit: 100, ..Search::default() })
}

fn texts(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.text.as_str()).collect()
}
