//! A circuit breaker: after a row of failures nobody waits for a service that is down.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, Histogram};

use crate::measured;

/// So many failures in a row open it.
const FAILURES: u32 = 6;
/// For so long; then one call at a time may try.
const PAUSE: Duration = Duration::from_secs(5);

/// Closed: calls go through. Open: none. After the pause one call decides.
pub(super) struct Breaker {
    state: Mutex<State>,
    open: Gauge,
    not_tried: Counter,
    answered: Counter,
    failed: Counter,
    seconds: Histogram,
}

#[derive(Default)]
struct State {
    failures: u32,
    open_until: Option<Instant>,
}

/// The right to one call, whose outcome must be told.
pub(super) struct Permit<'a>(&'a Breaker, Instant);

impl Breaker {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            open: measured::breaker_open(),
            not_tried: measured::file_calls("not_tried"),
            answered: measured::file_calls("answered"),
            failed: measured::file_calls("failed"),
            seconds: measured::file_seconds(),
        }
    }

    /// Leave to call, unless the breaker is open.
    pub(super) fn permit(&self) -> Option<Permit<'_>> {
        let (mut state, now) = (self.state(), Instant::now());
        match state.open_until {
            Some(until) if now < until => {
                self.not_tried.increment(1);
                None
            }
            Some(_) => {
                // Others wait for what this call finds, or for another pause if it is never told.
                state.open_until = Some(now + PAUSE);
                Some(Permit(self, now))
            }
            None => Some(Permit(self, now)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// The service answered.
    pub(super) fn success(self) {
        *self.0.state() = State::default();
        self.0.open.set(0.0);
        self.0.answered.increment(1);
    }

    /// It did not.
    pub(super) fn failure(self) {
        self.0.failed.increment(1);
        let mut state = self.0.state();
        state.failures += 1;
        if state.failures >= FAILURES {
            state.open_until = Some(Instant::now() + PAUSE);
            self.0.open.set(1.0);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.seconds.record(self.1.elapsed().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[test]
    fn opens_after_failures_in_a_row_and_closes_on_success() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let breaker = metrics::with_local_recorder(&recorder, Breaker::new);
        let shown = || recorder.handle().render();
        breaker.permit().unwrap().success();
        for _ in 0..FAILURES {
            assert!(shown().contains("drover_files_breaker_open 0\n"), "{}", shown());
            breaker.permit().unwrap().failure();
        }
        assert!(shown().contains("drover_files_breaker_open 1\n"), "{}", shown());
        assert!(breaker.permit().is_none());
        breaker.state().open_until = Some(Instant::now());
        let trial = breaker.permit().unwrap();
        assert!(breaker.permit().is_none(), "one trial at a time");
        trial.success();
        assert!(breaker.permit().is_some());
        assert!(shown().contains("drover_files_breaker_open 0\n"), "{}", shown());
    }
}
