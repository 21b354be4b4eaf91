//! A circuit breaker. While the system service does not respond, calls fail at once instead of waiting for it.
//! Failed calls of one or two tenants never open it alone, since their calls may just be large. It opens if a probe of
//! the service fails as well, or if calls of three tenants in a row have failed.

use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, Histogram};
use parking_lot::Mutex;

use crate::telemetry::metrics::{file_breaker_open, file_call_seconds, file_calls};

/// Number of consecutive failures after which the service is probed.
const PROBE_THRESHOLD: u32 = 3;
/// Number of tenants with failed calls, without a success in between, that opens the breaker regardless of probes: a
/// service may answer probes while its operations hang.
const OPEN_THRESHOLD: usize = 3;
/// How long the breaker stays open. Afterwards one call at a time is tried.
const OPEN_TIME: Duration = Duration::from_secs(5);

/// The breaker. Closed, it permits all calls. Open, it permits none for [`OPEN_TIME`], and then one trial call.
pub(super) struct Breaker {
    state: Mutex<State>,
    metrics: BreakerMetrics,
}

#[derive(Default)]
struct State {
    /// Consecutive failures since the last success or probe.
    failures: u32,
    /// The tenants with failed calls since the last success, up to [`OPEN_THRESHOLD`].
    failed_tenants: Vec<String>,
    open_until: Option<Instant>,
    /// A trial call is running.
    on_trial: bool,
}

/// The permission for one call. Its outcome must be reported.
pub(super) struct Permit<'a> {
    breaker: &'a Breaker,
    tenant: &'a str,
    started: Instant,
    /// The breaker was open, and the outcome of this call decides whether it closes.
    is_trial: bool,
    reported: bool,
}

/// The next step after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterFailure {
    /// No further step.
    Continue,
    /// Probe the service and report the result with [`Breaker::probed`].
    Probe,
}

impl Breaker {
    /// Creates a closed breaker and registers its metrics.
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), metrics: BreakerMetrics::registered() }
    }

    /// Creates a closed breaker without metrics.
    pub(super) fn without_metrics() -> Self {
        Self { state: Mutex::default(), metrics: BreakerMetrics::none() }
    }

    /// Returns the permission for a call of this tenant, or `None` while the breaker is open.
    pub(super) fn permit<'a>(&'a self, tenant: &'a str) -> Option<Permit<'a>> {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let is_trial = match state.open_until {
            Some(until) if now < until => {
                self.metrics.not_tried.increment(1);
                return None;
            }
            Some(_) => {
                // No other call is permitted until this one has a result.
                (state.open_until, state.on_trial) = (Some(now + OPEN_TIME), true);
                true
            }
            None => false,
        };
        Some(Permit { breaker: self, tenant, started: now, is_trial, reported: false })
    }

    /// Returns how long the breaker stays open, or `None` if a call is possible.
    pub(super) fn open_for(&self) -> Option<Duration> {
        self.state
            .lock()
            .open_until
            .map(|until| until.saturating_duration_since(Instant::now()))
            .filter(|left| !left.is_zero())
    }

    /// Reports the result of a probe. The breaker opens if it failed.
    pub(super) fn probed(&self, answered: bool) {
        let mut state = self.state.lock();
        // Failures of three tenants opened the breaker during this probe. A probe that began earlier does not close
        // it; a successful call does.
        let is_overtaken = state.open_until.is_some() && !state.on_trial;
        if !answered {
            self.open(&mut state);
        } else if !is_overtaken {
            self.close(&mut state);
        }
    }

    /// Closes the breaker. Does not clear the failed tenants; only a success does.
    fn close(&self, state: &mut State) {
        (state.failures, state.open_until, state.on_trial) = (0, None, false);
        self.metrics.open.set(0.0);
    }

    fn open(&self, state: &mut State) {
        let until = Instant::now() + OPEN_TIME;
        (state.failures, state.open_until, state.on_trial) = (0, Some(until), false);
        self.metrics.open.set(1.0);
    }

    fn close_after_success(&self) {
        let mut state = self.state.lock();
        state.failed_tenants.clear();
        self.close(&mut state);
    }
}

impl Permit<'_> {
    /// Reports that the service responded.
    pub(super) fn success(mut self) {
        self.reported = true;
        self.breaker.close_after_success();
        self.breaker.metrics.answered.increment(1);
    }

    /// Reports that the service responded, but that the response cannot be used. Calls of others may still succeed.
    pub(super) fn unusable(mut self) {
        self.reported = true;
        self.breaker.close_after_success();
        self.breaker.metrics.failed.increment(1);
    }

    /// Reports that the service did not respond.
    pub(super) fn failure(mut self) -> AfterFailure {
        self.reported = true;
        self.breaker.metrics.failed.increment(1);
        if self.is_trial {
            return AfterFailure::Probe;
        }
        let mut state = self.breaker.state.lock();
        if state.open_until.is_some() {
            return AfterFailure::Continue;
        }
        if !state.failed_tenants.iter().any(|failed| failed == self.tenant) {
            state.failed_tenants.push(self.tenant.to_owned());
        }
        if state.failed_tenants.len() >= OPEN_THRESHOLD {
            state.failed_tenants.truncate(OPEN_THRESHOLD);
            self.breaker.open(&mut state);
            return AfterFailure::Continue;
        }
        state.failures += 1;
        if state.failures < PROBE_THRESHOLD {
            return AfterFailure::Continue;
        }
        state.failures = 0;
        AfterFailure::Probe
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.breaker.metrics.seconds.record(self.started.elapsed().as_secs_f64());
        if self.is_trial && !self.reported {
            // The call was cancelled, because its client disconnected: the next call is a trial.
            let mut state = self.breaker.state.lock();
            if state.open_until.is_some() {
                state.open_until = Some(Instant::now());
            }
        }
    }
}

/// The metrics of a circuit breaker and its calls.
pub(super) struct BreakerMetrics {
    /// 1 while the breaker is open.
    pub(super) open: Gauge,
    /// Calls that were not made, because the breaker was open.
    pub(super) not_tried: Counter,
    pub(super) answered: Counter,
    pub(super) failed: Counter,
    /// Durations of calls.
    pub(super) seconds: Histogram,
}

impl BreakerMetrics {
    /// Registers the metrics of calls about files.
    pub(super) fn registered() -> Self {
        Self {
            open: file_breaker_open(),
            not_tried: file_calls("not_tried"),
            answered: file_calls("answered"),
            failed: file_calls("failed"),
            seconds: file_call_seconds(),
        }
    }

    /// Returns metrics that record nothing.
    pub(super) fn none() -> Self {
        Self {
            open: Gauge::noop(),
            not_tried: Counter::noop(),
            answered: Counter::noop(),
            failed: Counter::noop(),
            seconds: Histogram::noop(),
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
    fn a_failed_probe_opens_and_a_success_closes_the_breaker() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let breaker = metrics::with_local_recorder(&recorder, Breaker::new);
        let metrics = || recorder.handle().render();
        breaker.permit("a").unwrap().success();
        assert_eq!(fail(&breaker, PROBE_THRESHOLD), [Continue, Continue, Probe]);
        assert!(metrics().contains("drover_files_breaker_open 0\n"), "{}", metrics());
        assert_eq!(breaker.open_for(), None);
        breaker.probed(false);
        assert!(breaker.open_for().is_some_and(|left| left <= OPEN_TIME));
        assert!(metrics().contains("drover_files_breaker_open 1\n"), "{}", metrics());
        assert!(breaker.permit("a").is_none());
        breaker.state.lock().open_until = Some(Instant::now());
        assert_eq!(breaker.open_for(), None, "a trial is possible");
        let trial = breaker.permit("a").unwrap();
        assert!(breaker.permit("a").is_none(), "only one trial at a time");
        trial.success();
        assert!(breaker.permit("a").is_some());
        assert!(metrics().contains("drover_files_breaker_open 0\n"), "{}", metrics());
    }

    #[test]
    fn failures_of_one_tenant_open_the_breaker_only_if_a_probe_fails() {
        let breaker = Breaker::new();
        for _ in 0..3 {
            assert_eq!(fail(&breaker, PROBE_THRESHOLD), [Continue, Continue, Probe]);
            breaker.probed(true);
            assert!(breaker.permit("a").is_some());
        }
        assert_eq!(fail(&breaker, PROBE_THRESHOLD)[2], Probe);
        breaker.probed(false);
        assert!(breaker.permit("a").is_none());
    }

    #[test]
    fn failures_of_three_tenants_open_the_breaker_without_a_probe() {
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
        // The result of a probe that began before these failures does not close the breaker.
        let probe = (0..3).map(|_| breaker.permit("a").unwrap().failure()).last();
        assert_eq!((probe, fail("b"), fail("c")), (Some(Probe), false, true));
        breaker.probed(true);
        assert!(breaker.permit("a").is_none());
        breaker.state.lock().open_until = Some(Instant::now());
        breaker.permit("a").unwrap().success();
        assert_eq!(["a", "b", "c"].map(fail), [false, false, true]);
        // The trial fails too, but a probe succeeds: the next failure opens the breaker again.
        breaker.state.lock().open_until = Some(Instant::now());
        assert!(!fail("d"));
        assert!(fail("a"));
        breaker.state.lock().open_until = Some(Instant::now());
        breaker.permit("a").unwrap().success();
        assert_eq!(["a", "b", "a"].map(fail), [false; 3]);
    }

    #[test]
    fn a_failed_trial_is_followed_by_a_probe() {
        let breaker = Breaker::new();
        for (answered, closed) in [(false, false), (true, true)] {
            breaker.probed(false);
            breaker.state.lock().open_until = Some(Instant::now());
            assert_eq!(breaker.permit("a").unwrap().failure(), Probe);
            assert!(breaker.permit("a").is_none(), "the probe has no result yet");
            breaker.probed(answered);
            assert_eq!(breaker.permit("a").is_some(), closed);
        }
    }

    #[test]
    fn a_cancelled_trial_permits_another() {
        let breaker = Breaker::new();
        breaker.probed(false);
        breaker.state.lock().open_until = Some(Instant::now());
        drop(breaker.permit("a").unwrap());
        let trial = breaker.permit("a").unwrap();
        assert!(breaker.permit("a").is_none());
        trial.success();
        assert!(breaker.permit("a").is_some());
    }

    #[test]
    fn an_unusable_response_does_not_count_as_a_failure() {
        let breaker = Breaker::new();
        for n in 0..20 {
            breaker.permit("a").unwrap().unusable();
            assert_eq!(fail(&breaker, 2), [Continue; 2], "{n}");
        }
    }
}
