//! Metrics of the providers (docs/metrics.md).

use metrics::{Counter, counter, describe_counter};

/// Calls of a provider, `addresses` or `words`, over the network. `outcome` is `answered` or `failed`.
pub(super) fn provider_calls(provider: &'static str, outcome: &'static str) -> Counter {
    counter!("drover_provider_calls_total", "provider" => provider, "outcome" => outcome)
}

/// Describes the metrics and initializes them to 0.
pub(crate) fn register_metrics() {
    describe_counter!("drover_provider_calls_total", "Calls of providers over the network, by outcome");
    for provider in ["addresses", "words"] {
        for outcome in ["answered", "failed"] {
            provider_calls(provider, outcome).increment(0);
        }
    }
}
