//! Metrics of the matching of listings with saved searches.

use std::time::Duration;

use common::Error;
use database::Database;
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use metrics::{describe_counter, describe_gauge, describe_histogram};

use super::store;

const MATCHES: &str = "drover_saved_search_matches_total";
const MATCH_SECONDS: &str = "drover_saved_search_match_seconds";
const STORE_SECONDS: &str = "drover_saved_search_store_seconds";
const LOADED: &str = "drover_saved_searches_loaded";
const LAG: &str = "drover_saved_search_lag_seconds";

/// Interval between two updates of the lag.
const LAG_INTERVAL: Duration = Duration::from_secs(5);

/// Returns the counter of matches that this replica stored.
pub(super) fn matches() -> Counter {
    counter!(MATCHES)
}

/// Returns the histogram of the time that it took to match a listing.
pub(super) fn match_seconds() -> Histogram {
    histogram!(MATCH_SECONDS)
}

/// Returns the histogram of the time that it took to store the matches of one transaction.
pub(super) fn store_seconds() -> Histogram {
    histogram!(STORE_SECONDS)
}

/// Returns the gauge of the searches that this replica holds.
pub(super) fn loaded() -> Gauge {
    gauge!(LOADED)
}

fn lag() -> Gauge {
    gauge!(LAG)
}

/// Describes the metrics and sets them to 0.
pub(crate) fn register_metrics() {
    describe_counter!(MATCHES, "Listings that matched a saved search, stored by this replica");
    describe_histogram!(MATCH_SECONDS, "Time to find the saved searches that match a listing");
    describe_histogram!(STORE_SECONDS, "Time to store the matches of one transaction");
    describe_gauge!(LOADED, "Saved searches in the memory of the replica that matches listings; 0 in others");
    describe_gauge!(LAG, "Age of the oldest event of a listing that is not matched with saved searches yet");
    matches().increment(0);
    // Exposed from the start.
    drop((match_seconds(), store_seconds()));
    loaded().set(0.0);
    lag().set(0.0);
}

/// Updates the lag for as long as the service runs, whichever replica matches.
pub(crate) async fn report_lag(db: &Database) {
    loop {
        let age: Result<Duration, Error> = db.read(store::lag).await;
        if let Ok(age) = age {
            lag().set(age.as_secs_f64());
        }
        tokio::time::sleep(LAG_INTERVAL).await;
    }
}
