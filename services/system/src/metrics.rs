//! What is counted of the cache and of providers, each there with 0 before the first.

use metrics::{Counter, Gauge, counter, gauge};
use metrics::{describe_counter, describe_gauge};

/// The kinds of cached answers, by which their keys begin.
const KINDS: [&str; 4] = ["location:words", "location:coordinates", "location:address", "address:search"];

/// What was found in the cache.
pub(crate) fn hits(kind: &str) -> Counter {
    counter!("drover_cache_hits_total", "kind" => kind.to_owned())
}

/// What was not.
pub(crate) fn misses(kind: &str) -> Counter {
    counter!("drover_cache_misses_total", "kind" => kind.to_owned())
}

/// Commands that Redis did not answer, also while it is not connected.
pub(crate) fn cache_errors() -> Counter {
    counter!("drover_cache_errors_total")
}

/// How many entries the cache has. A Redis is asked for all that it holds, others' too.
pub(crate) fn cache_entries() -> Gauge {
    gauge!("drover_cache_entries")
}

/// How many bytes they take, likewise.
pub(crate) fn cache_bytes() -> Gauge {
    gauge!("drover_cache_bytes")
}

/// Calls of a provider of `places` or `words`, by how they went.
pub(crate) fn provider_calls(provider: &'static str, outcome: &'static str) -> Counter {
    counter!("drover_provider_calls_total", "provider" => provider, "outcome" => outcome)
}

/// Says what each of them is, and shows it.
pub(crate) fn register_metrics() {
    describe_counter!("drover_cache_hits_total", "Answers found in the cache, by kind");
    describe_counter!("drover_cache_misses_total", "Answers not found in the cache, by kind");
    describe_counter!(
        "drover_cache_errors_total",
        "Commands that Redis did not answer, also while it is not connected"
    );
    describe_gauge!("drover_cache_entries", "Entries of the cache; with Redis all that it holds");
    describe_gauge!("drover_cache_bytes", "Bytes of the cache; with Redis all that it holds");
    describe_counter!("drover_provider_calls_total", "Calls of providers over the network, by outcome");
    for kind in KINDS {
        hits(kind).increment(0);
        misses(kind).increment(0);
    }
    for provider in ["addresses", "words"] {
        for outcome in ["answered", "failed"] {
            provider_calls(provider, outcome).increment(0);
        }
    }
    cache_errors().increment(0);
    cache_entries().set(0.0);
    cache_bytes().set(0.0);
}
