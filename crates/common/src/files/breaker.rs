//! A circuit breaker: after a row of failures nobody waits for a service that is down.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many failures in a row open it.
const FAILURES: u32 = 6;
/// For so long; then one call at a time may try.
const PAUSE: Duration = Duration::from_secs(5);

/// Closed: calls go through. Open: none. After the pause one call decides.
#[derive(Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Default)]
struct State {
    failures: u32,
    open_until: Option<Instant>,
}

/// The right to one call, whose outcome must be told.
pub(super) struct Permit<'a>(&'a Breaker);

impl Breaker {
    /// Leave to call, unless the breaker is open.
    pub(super) fn permit(&self) -> Option<Permit<'_>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.open_until {
            Some(until) if Instant::now() < until => {
                count("not_tried");
                None
            }
            Some(_) => {
                // Others wait for what this call finds, or for another pause if it is never told.
                state.open_until = Some(Instant::now() + PAUSE);
                Some(Permit(self))
            }
            None => Some(Permit(self)),
        }
    }
}

impl Permit<'_> {
    /// The service answered.
    pub(super) fn success(self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
        metrics::gauge!("drover_files_breaker_open").set(0.0);
        count("answered");
    }

    /// It did not.
    pub(super) fn failure(self) {
        count("failed");
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures += 1;
        if state.failures >= FAILURES {
            state.open_until = Some(Instant::now() + PAUSE);
            metrics::gauge!("drover_files_breaker_open").set(1.0);
        }
    }
}

/// Calls of the system service, by how they went.
fn count(outcome: &'static str) {
    metrics::counter!("drover_files_calls_total", "outcome" => outcome).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_after_failures_in_a_row_and_closes_on_success() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            breaker.permit().unwrap().failure();
        }
        assert!(breaker.permit().is_none());
        breaker.0.lock().unwrap().open_until = Some(Instant::now());
        let trial = breaker.permit().unwrap();
        assert!(breaker.permit().is_none(), "one trial at a time");
        trial.success();
        assert!(breaker.permit().is_some());
    }
}
