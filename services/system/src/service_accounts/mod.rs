//! Service accounts of organisations, and the tokens that they get (`docs/api/authentication.md`, "Service accounts").

mod demo;
mod failures;
mod form;
mod handlers;
mod issuer;
mod model;
mod store;
mod token;

use metrics::{Counter, counter, describe_counter};

pub(crate) use demo::create_demo_data;
pub(crate) use handlers::{routes, well_known_routes};
pub(crate) use issuer::Issuer;

/// Outcomes of requests for a token.
#[derive(Clone, Copy, Debug)]
enum TokenOutcome {
    Issued,
    InvalidClient,
    InvalidRequest,
    RateLimited,
}

impl TokenOutcome {
    const ALL: [Self; 4] = [Self::Issued, Self::InvalidClient, Self::InvalidRequest, Self::RateLimited];

    fn counter(self) -> Counter {
        let outcome = match self {
            Self::Issued => "issued",
            Self::InvalidClient => "invalid_client",
            Self::InvalidRequest => "invalid_request",
            Self::RateLimited => "rate_limited",
        };
        counter!("drover_token_requests_total", "outcome" => outcome)
    }
}

/// Describes the metric and initializes it to 0.
pub(crate) fn register_metrics() {
    describe_counter!("drover_token_requests_total", "Requests for a token of a service account, by outcome");
    for outcome in TokenOutcome::ALL {
        outcome.counter().increment(0);
    }
}
