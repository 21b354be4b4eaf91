//! The body of a form with a minimum rate, a maximum duration and a maximum size.

use std::io;
use std::time::Duration;

use actix_web::error::PayloadError;
use actix_web::web::{Bytes, Payload};
use futures_util::stream::{self, Stream, StreamExt};
use tokio::time::{Instant, timeout_at};

use crate::Error;

/// Timeout of a whole form. Ten photographs take less on any line.
pub(super) const FORM_TIMEOUT: Duration = Duration::from_secs(3600);
/// Minimum number of bytes that a client must send in each period of `server.stalled_seconds`. The slowest lines are
/// faster.
const MIN_BYTES_PER_PERIOD: usize = 16 << 10;
/// If the end of a period is noticed later than this, the service itself was busy, for example with its disk. Then the
/// period does not count.
const MAX_TIMER_DELAY: Duration = Duration::from_secs(1);

/// The state of the stream.
struct Body {
    payload: Payload,
    period_end: Instant,
    received_in_period: usize,
    bytes_left: usize,
}

/// Returns the body as a stream that fails when the client stalls for a `period` or sends more than `max_bytes`. Its
/// errors contain an [`Error`].
pub(super) fn body(
    payload: Payload,
    period: Duration,
    max_bytes: usize,
) -> impl Stream<Item = Result<Bytes, PayloadError>> {
    let start =
        Body { payload, period_end: Instant::now() + period, received_in_period: 0, bytes_left: max_bytes };
    stream::try_unfold(start, move |mut body| async move {
        loop {
            match timeout_at(body.period_end, body.payload.next()).await {
                Ok(None) => return Ok(None),
                Ok(Some(chunk)) => {
                    let chunk = chunk?;
                    let left = body.bytes_left.checked_sub(chunk.len());
                    body.bytes_left = left.ok_or_else(|| wrap(Error::PayloadTooLarge(max_bytes)))?;
                    body.received_in_period += chunk.len();
                    return Ok(Some((chunk, body)));
                }
                Err(_) if is_stalled(&body) => {
                    return Err(wrap(Error::MalformedBody("it stopped arriving".into())));
                }
                Err(_) => {
                    body.period_end = Instant::now() + period;
                    body.received_in_period = 0;
                }
            }
        }
    })
}

fn is_stalled(body: &Body) -> bool {
    body.received_in_period < MIN_BYTES_PER_PERIOD && body.period_end.elapsed() < MAX_TIMER_DELAY
}

/// Wraps an error for the layers that parse the form.
fn wrap(error: Error) -> PayloadError {
    PayloadError::Io(io::Error::other(error))
}
