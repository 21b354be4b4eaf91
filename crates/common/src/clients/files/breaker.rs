//! A circuit breaker: while the service does not answer, no request waits for it.
//!
//! Failed calls of one or two tenants never open it alone: their calls may just be heavy. It opens if a probe of the service
//! fails as well, or if calls of three tenants in a row have failed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, Histogram};

use crate::telemetry;

/// ErrorResponses in a row after which the service is probed.
const MAX_FAILURES: u32 = 3;
/// Tenants whose calls fail without a success in between before the breaker opens whatever the probe says: a service may
/// answer probes while its work hangs.
const MAX_FAILED_TENANTS: usize = 3;
/// How long it stays open; then one call at a time is tried.
const OPEN_TIME: Duration = Duration::from_secs(5);

/// Closed: calls go through. Open: none. After [`OPEN_TIME`] one call decides.
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
    /// In a row, since the last success or probe.
    failures: u32,
    /// The tenants of failed calls since the last success, up to [`MAX_FAILED_TENANTS`].
    failed_tenants: Vec<String>,
    open_until: Option<Instant>,
    /// A call finds out whether it closes.
    on_trial: bool,
}

/// The right to one call, whose outcome must be reported.
pub(super) struct Permit<'a> {
    breaker: &'a Breaker,
    tenant: &'a str,
    started: Instant,
    /// The breaker was open, and this call finds out whether it closes.
    is_trial: bool,
    reported: bool,
}

/// The next step after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterFailure {
    /// Nothing.
    Continue,
    /// The service must be probed, and the result be reported by [`Breaker::probed`].
    Probe,
}

impl Breaker {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            open: telemetry::metrics::breaker_open(),
            not_tried: telemetry::metrics::file_calls("not_tried"),
            answered: telemetry::metrics::file_calls("answered"),
            failed: telemetry::metrics::file_calls("failed"),
            seconds: telemetry::metrics::file_seconds(),
        }
    }

    /// Permission to call for a tenant, unless the breaker is open.
    pub(super) fn permit<'a>(&'a self, tenant: &'a str) -> Option<Permit<'a>> {
        let (mut state, now) = (self.state(), Instant::now());
        let is_trial = match state.open_until {
            Some(until) if now < until => {
                self.not_tried.increment(1);
                return None;
            }
            Some(_) => {
                // Others wait for the result of this call.
                (state.open_until, state.on_trial) = (Some(now + OPEN_TIME), true);
                true
            }
            None => false,
        };
        Some(Permit { breaker: self, tenant, started: now, is_trial, reported: false })
    }

    /// How long the breaker stays open; `None` while it is closed or a call would be tried.
    pub(super) fn open_for(&self) -> Option<Duration> {
        self.state()
            .open_until
            .map(|until| until.saturating_duration_since(Instant::now()))
            .filter(|left| !left.is_zero())
    }

    /// Reports whether the service answered a probe: if not, the breaker opens.
    pub(super) fn probed(&self, answered: bool) {
        let mut state = self.state();
        // ErrorResponses of three tenants have opened it meanwhile: only a trial closes it.
        let is_overtaken = state.open_until.is_some() && !state.on_trial;
        if !answered {
            self.open(&mut state);
        } else if !is_overtaken {
            self.close(&mut state);
        }
    }

    /// Keeps the failed tenants: only a success clears them.
    fn close(&self, state: &mut State) {
        (state.failures, state.open_until, state.on_trial) = (0, None, false);
        self.open.set(0.0);
    }

    fn open(&self, state: &mut State) {
        let until = Instant::now() + OPEN_TIME;
        (state.failures, state.open_until, state.on_trial) = (0, Some(until), false);
        self.open.set(1.0);
    }

    fn answered(&self) {
        let mut state = self.state();
        state.failed_tenants.clear();
        self.close(&mut state);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// The service answered.
    pub(super) fn success(mut self) {
        self.reported = true;
        self.breaker.answered();
        self.breaker.answered.increment(1);
    }

    /// The service answered, but this caller's answer is of no use: no reason to keep others from calling.
    pub(super) fn unusable(mut self) {
        self.reported = true;
        self.breaker.answered();
        self.breaker.failed.increment(1);
    }

    /// The service did not answer.
    pub(super) fn failure(mut self) -> AfterFailure {
        self.reported = true;
        self.breaker.failed.increment(1);
        if self.is_trial {
            return AfterFailure::Probe;
        }
        let mut state = self.breaker.state();
        if state.open_until.is_some() {
            return AfterFailure::Continue;
        }
        if !state.failed_tenants.iter().any(|failed| failed == self.tenant) {
            state.failed_tenants.push(self.tenant.to_owned());
        }
        if state.failed_tenants.len() >= MAX_FAILED_TENANTS {
            state.failed_tenants.truncate(MAX_FAILED_TENANTS);
            self.breaker.open(&mut state);
            return AfterFailure::Continue;
        }
        state.failures += 1;
        if state.failures < MAX_FAILURES {
            return AfterFailure::Continue;
        }
        state.failures = 0;
        AfterFailure::Probe
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.breaker.seconds.record(self.started.elapsed().as_secs_f64());
        if self.is_trial && !self.reported {
            // The client hung up, which must not keep others waiting: the next call is a trial.
            let mut state = self.breaker.state();
            if state.open_until.is_some() {
                state.open_until = Some(Instant::now());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::AfterFailure::{Continue, Probe};
    use super::*;

    fn fail(breaker: &Breaker, times: u32) -> Vec<AfterFailure> {
        (0..times).map(|_| breaker.permit("a").unwrap().failure()).collect()
    }

    #[test]
    fn a_failed_probe_opens_it_and_a_success_closes_it() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let breaker = metrics::with_local_recorder(&recorder, Breaker::new);
        let shown = || recorder.handle().render();
        breaker.permit("a").unwrap().success();
        assert_eq!(fail(&breaker, MAX_FAILURES), [Continue, Continue, Probe]);
        assert!(shown().contains("drover_files_breaker_open 0\n"), "{}", shown());
        assert_eq!(breaker.open_for(), None);
        breaker.probed(false);
        assert!(breaker.open_for().is_some_and(|left| left <= OPEN_TIME));
        assert!(shown().contains("drover_files_breaker_open 1\n"), "{}", shown());
        assert!(breaker.permit("a").is_none());
        breaker.state().open_until = Some(Instant::now());
        assert_eq!(breaker.open_for(), None, "a call may be tried");
        let trial = breaker.permit("a").unwrap();
        assert!(breaker.permit("a").is_none(), "one trial at a time");
        trial.success();
        assert!(breaker.permit("a").is_some());
        assert!(shown().contains("drover_files_breaker_open 0\n"), "{}", shown());
    }

    #[test]
    fn failures_open_it_only_if_a_probe_fails_too() {
        let breaker = Breaker::new();
        for _ in 0..3 {
            assert_eq!(fail(&breaker, MAX_FAILURES), [Continue, Continue, Probe]);
            breaker.probed(true);
            assert!(breaker.permit("a").is_some());
        }
        assert_eq!(fail(&breaker, MAX_FAILURES)[2], Probe);
        breaker.probed(false);
        assert!(breaker.permit("a").is_none());
    }

    #[test]
    fn failures_of_three_tenants_in_a_row_open_it_without_a_probe() {
        let breaker = Breaker::new();
        let fail = |tenant| {
            let next = breaker.permit(tenant).unwrap().failure();
            if next == Probe {
                breaker.probed(true);
            }
            breaker.open_for().is_some()
        };
        assert!(!["a", "a", "a", "a", "b", "a"].map(fail).contains(&true));
        breaker.permit("c").unwrap().success();
        // A probe that began before they failed does not close it.
        let probe = (0..3).map(|_| breaker.permit("a").unwrap().failure()).last();
        assert_eq!((probe, fail("b"), fail("c")), (Some(Probe), false, true));
        breaker.probed(true);
        assert!(breaker.permit("a").is_none());
        breaker.state().open_until = Some(Instant::now());
        breaker.permit("a").unwrap().success();
        assert_eq!(["a", "b", "c"].map(fail), [false, false, true]);
        // The trial fails too, but the service answers the probe: then the next failure opens it again.
        breaker.state().open_until = Some(Instant::now());
        assert!(!fail("d"));
        assert!(fail("a"));
        breaker.state().open_until = Some(Instant::now());
        breaker.permit("a").unwrap().success();
        assert_eq!(["a", "b", "a"].map(fail), [false; 3]);
    }

    #[test]
    fn a_failed_trial_is_followed_by_a_probe() {
        let breaker = Breaker::new();
        for (answered, closed) in [(false, false), (true, true)] {
            breaker.probed(false);
            breaker.state().open_until = Some(Instant::now());
            assert_eq!(breaker.permit("a").unwrap().failure(), Probe);
            assert!(breaker.permit("a").is_none(), "until the probe has a result");
            breaker.probed(answered);
            assert_eq!(breaker.permit("a").is_some(), closed);
        }
    }

    #[test]
    fn after_a_trial_that_is_given_up_another_begins() {
        let breaker = Breaker::new();
        breaker.probed(false);
        breaker.state().open_until = Some(Instant::now());
        drop(breaker.permit("a").unwrap());
        let trial = breaker.permit("a").unwrap();
        assert!(breaker.permit("a").is_none());
        trial.success();
        assert!(breaker.permit("a").is_some());
    }

    #[test]
    fn an_unusable_answer_is_no_failure_of_the_service() {
        let breaker = Breaker::new();
        for n in 0..20 {
            breaker.permit("a").unwrap().unusable();
            assert_eq!(fail(&breaker, 2), [Continue; 2], "{n}");
        }
    }
}
