//! Requests that reach no handler, because they are not HTTP or their head is too long or too slow. actix answers them
//! itself, with a status and no body.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_http::error::{DispatchError, ParseError};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use metrics::Counter;
use uuid::Uuid;

use crate::telemetry::metrics::unparsed_requests;

/// Maximum number of log lines per second.
const MAX_LINES_PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
/// Start of actix's response to a head that is too slow.
const TIMEOUT_RESPONSE: &[u8] = b"HTTP/1.1 408 ";

/// Counts these requests, and logs them at `debug` without data of the client.
#[derive(Clone)]
pub(crate) struct UnparsedRequests(Arc<Inner>);

struct Inner {
    limiter: DefaultDirectRateLimiter,
    /// Number of lines suppressed since the last one.
    suppressed: AtomicU64,
    malformed: Counter,
    too_slow: Counter,
    too_long: Counter,
}

impl Default for UnparsedRequests {
    fn default() -> Self {
        Self(Arc::new(Inner {
            limiter: RateLimiter::direct(Quota::per_second(MAX_LINES_PER_SECOND)),
            suppressed: AtomicU64::new(0),
            malformed: unparsed_requests(400),
            too_slow: unparsed_requests(408),
            too_long: unparsed_requests(431),
        }))
    }
}

impl UnparsedRequests {
    /// Records the error that ended a connection, if such a request caused it.
    pub(crate) fn record(&self, error: &DispatchError) {
        match error {
            DispatchError::Parse(ParseError::TooLarge) => {
                self.0.too_long.increment(1);
                self.log(431, "the head is too long");
            }
            // A body ended too early. A handler answers its request.
            DispatchError::Parse(ParseError::Io(_)) => {}
            // The message is from the parser and contains no part of the request.
            DispatchError::Parse(error) => {
                self.0.malformed.increment(1);
                self.log(400, &error.to_string());
            }
            _ => {}
        }
    }

    /// Records bytes that are written to a connection on which no request has begun, if they are a timeout response.
    pub(crate) fn record_timeout_response(&self, bytes: &[u8]) {
        if bytes.starts_with(TIMEOUT_RESPONSE) {
            self.0.too_slow.increment(1);
            self.log(408, "the head is too slow");
        }
    }

    fn log(&self, status: u16, reason: &str) {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        if self.0.limiter.check().is_err() {
            self.0.suppressed.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let suppressed = self.0.suppressed.swap(0, Ordering::Relaxed);
        let request_id = Uuid::now_v7().to_string();
        tracing::debug!(request_id, status, reason, suppressed, "a request could not be parsed");
    }
}
