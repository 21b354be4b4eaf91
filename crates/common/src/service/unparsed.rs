//! Requests that reach no handler, because they are not HTTP or their head is too long or too slow. actix answers them
//! itself, with a status and no body; those that cannot be parsed get a body here.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_http::error::{DispatchError, ParseError};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use metrics::Counter;
use serde_json::json;
use uuid::Uuid;

use crate::telemetry::metrics::unparsed_requests;

/// Maximum number of log lines per second.
const MAX_LINES_PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
/// Start of actix's response to a head that is too slow.
const TIMEOUT_RESPONSE: &[u8] = b"HTTP/1.1 408 ";

/// The longest request line of a URL that actix can parse: 64 KiB, with the method and the version.
pub(super) const MAX_LINE_BYTES: usize = 65_534;
/// Start of actix's responses to heads that it cannot parse.
const PARSE_RESPONSES: [&[u8]; 2] = [b"HTTP/1.1 400 ", b"HTTP/1.1 431 "];
/// What responses of handlers contain.
const HANDLED: &[u8] = b"x-request-id:";

/// Returns the response to send in place of actix's response to a head that it cannot parse, or `None` for other
/// responses. `line_bytes` is the length of the request line.
pub(super) fn response(bytes: &[u8], line_bytes: usize) -> Option<Vec<u8>> {
    let is_of_parser = PARSE_RESPONSES.iter().any(|start| bytes.starts_with(start))
        && !bytes.windows(HANDLED.len()).any(|part| part.eq_ignore_ascii_case(HANDLED));
    let (status, code, message) = match is_of_parser {
        false => return None,
        true if line_bytes > MAX_LINE_BYTES => (
            "414 URI Too Long",
            "payload_too_large",
            "The URL is longer than 64 KiB: send long lists in several requests.",
        ),
        true if bytes.starts_with(PARSE_RESPONSES[1]) => return None,
        true => (
            "400 Bad Request",
            "malformed_body",
            "The request is not valid HTTP. A URL must have ASCII characters only: use percent-encoding for others, for \
             example %C3%B4 for \u{f4}.",
        ),
    };
    let id = Uuid::now_v7();
    let body = json!({
        "status": "error", "message": message, "stack": "", "code": code, "body": { "requestId": id }, "validation": [],
    })
    .to_string();
    let length = body.len();
    Some(
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             x-request-id: {id}\r\nconnection: close\r\n\r\n{body}"
        )
        .into_bytes(),
    )
}

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
