//! One fault: something fails under traffic, stays so for a while, and is repaired.

use std::collections::BTreeSet;
use std::mem::take;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testkit::processes::http::{Body, HttpClient, Response};
use testkit::processes::trial::Trial;

use crate::ledger::Ledger;
use crate::traffic::{Records, Target, Traffic, Workload, new_prefix};

/// Limit from the repair until everything works again, without a restart (docs/reliability.md).
const RECOVERY_LIMIT: Duration = Duration::from_secs(10);
/// Time until all workloads succeed before anything fails.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Limit of a probe's response.
const PROBE_LIMIT: Duration = Duration::from_secs(2);
/// Limit until `/readyz` shows a fault: a busy pool counts as working for `database.wait_ms`.
const READYZ_LIMIT: Duration = Duration::from_secs(8);

/// A fault and the limits of its effects.
pub struct Fault<'a> {
    trial: &'a Trial<'a>,
    name: String,
    targets: Vec<&'a Target>,
    /// The traffic. Its markers begin with `prefix`.
    pub workloads: Vec<Workload>,
    /// Prefix of the markers.
    pub prefix: String,
    shown_as: Option<&'static str>,
    duration: Duration,
    response_limit: Duration,
    must_refuse: bool,
}

impl<'a> Fault<'a> {
    /// A fault of three seconds that affects these services under the usual traffic.
    pub fn new(trial: &'a Trial<'a>, name: impl Into<String>, targets: Vec<&'a Target>) -> Self {
        let prefix = new_prefix();
        Self {
            trial,
            name: name.into(),
            workloads: targets.iter().flat_map(|target| target.workloads(&prefix)).collect(),
            targets,
            prefix,
            shown_as: None,
            duration: Duration::from_secs(3),
            response_limit: Duration::from_secs(9),
            must_refuse: false,
        }
    }

    /// Sets the time between failure and repair.
    pub fn lasting(self, duration: Duration) -> Self {
        Self { duration, ..self }
    }

    /// Sets the limit of each response.
    pub fn responses_within(self, response_limit: Duration) -> Self {
        Self { response_limit, ..self }
    }

    /// Requires that requests are refused. Otherwise the fault had no effect.
    pub fn refusing(self) -> Self {
        Self { must_refuse: true, ..self }
    }

    /// Requires that this member of `/readyz` shows the fault. `database` makes it 503.
    pub fn shown_as(self, member: impl Into<Option<&'static str>>) -> Self {
        Self { shown_as: member.into(), ..self }
    }

    /// Requires that all requests of some of the workloads so far succeed.
    pub fn unaffected(mut self, is_unaffected: impl Fn(&Workload) -> bool) -> Self {
        for workload in &mut self.workloads {
            workload.unaffected |= is_unaffected(workload);
        }
        self
    }

    /// Starts the traffic, lets something fail, repairs it, and checks all responses and everything that is stored.
    pub fn run(
        mut self,
        fail: impl FnOnce() -> Result<()>,
        repair: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let trial = self.trial;
        trial.check()?;
        let traffic = Traffic::start(take(&mut self.workloads));
        let healthy = traffic.wait_healthy(trial, Instant::now(), START_TIMEOUT);
        healthy.with_context(|| format!("before {}", self.name))?;
        let before = self.targets.iter().map(|target| ok_members(target)).collect::<Result<Vec<_>>>()?;
        let failed = Instant::now();
        fail()?;
        if let Some(member) = self.shown_as {
            ensure!(before.iter().all(|members| members.contains(member)), "{member} was not ok before");
            let status = if member == "database" { 503 } else { 200 };
            self.wait_readyz(READYZ_LIMIT, |_, r| r.status == status && r.json[member] != "ok")?;
        }
        trial.pause(self.duration.saturating_sub(failed.elapsed()))?;
        repair()?;
        let repaired = Instant::now();
        self.wait_readyz(2 * RECOVERY_LIMIT, |index, response| {
            response.status == 200 && before[index].iter().all(|member| response.json[member] == "ok")
        })?;
        let ready = repaired.elapsed();
        let healthy = traffic.wait_healthy(trial, repaired, 3 * RECOVERY_LIMIT);
        let mut records = traffic.finish();
        self.check(&mut records, repaired, ready)?;
        healthy?;
        self.note_abandoned_calls()
    }

    /// Checks all responses and everything that is stored.
    fn check(&self, records: &mut Records, repaired: Instant, ready: Duration) -> Result<()> {
        let (summary, has_failures) = (records.summary(), records.failures().next().is_some());
        let (last_failure, (slowest, workload)) = (records.last_failure(repaired), records.slowest());
        let resolved = records.resolve_unknown()?;
        let mut ledger = Ledger::default();
        for target in &self.targets {
            target.client.verify(self.trial, records, &self.prefix, &mut ledger)?;
        }
        for record in records.unexpected().take(5) {
            eprintln!("    unexpected: {record}");
        }
        let violations = records.unexpected().count() + ledger.violations();
        let result = format!(
            "{summary}; slowest {:.1} s ({workload}); recovered after {:.1} s, ready after {:.1} s; \
             violations {violations}{}",
            slowest.as_secs_f64(),
            last_failure.as_secs_f64(),
            ready.as_secs_f64(),
            if resolved > 0 { format!("; {resolved} resolved by their keys") } else { String::new() },
        );
        let response_limit = self.response_limit + self.trial.grace();
        let is_right = violations == 0
            && slowest <= response_limit
            && records.slowest_of(&["healthz", "readyz"]) <= PROBE_LIMIT + self.trial.grace()
            && last_failure <= RECOVERY_LIMIT
            && ready <= RECOVERY_LIMIT;
        let limits = [response_limit, RECOVERY_LIMIT].map(|limit| limit.as_secs());
        let limit =
            format!("slowest {} s, recovered and ready after {} s, violations 0", limits[0], limits[1]);
        self.trial.expect(is_right, &self.name, result, limit)?;
        ensure!(!self.must_refuse || has_failures, "{} had no effect: no request was refused", self.name);
        Ok(())
    }

    /// Waits until `/readyz` of each service, by index, is as expected.
    fn wait_readyz(&self, limit: Duration, is_expected: impl Fn(usize, &Response) -> bool) -> Result<()> {
        let begun = Instant::now();
        for (index, target) in self.targets.iter().enumerate() {
            let what = format!("{}: /readyz of {}", self.name, target.service.name);
            let limit = limit.saturating_sub(begun.elapsed());
            let is_expected = || Ok(readyz(target).is_ok_and(|response| is_expected(index, &response)));
            self.trial.wait_for(&what, limit, is_expected).with_context(|| match readyz(target) {
                Ok(response) => format!("it is {} {}", response.status, response.json),
                Err(error) => format!("{error:#}"),
            })?;
        }
        Ok(())
    }

    /// Records threads that still wait for a database.
    fn note_abandoned_calls(&self) -> Result<()> {
        for target in &self.targets {
            let url = target.service.url("/metrics");
            let metrics = HttpClient::new(PROBE_LIMIT).send("GET", &url, None, &Body::Empty)?;
            let text = String::from_utf8_lossy(&metrics.bytes).into_owned();
            let line = text.lines().find(|line| line.starts_with("drover_database_calls_left "));
            if let Some(line) = line.filter(|line| !line.ends_with(" 0")) {
                let check = format!("{}, {}", self.name, target.service.name);
                self.trial.note(check, line, "at most the size of the pool");
            }
        }
        Ok(())
    }
}

fn readyz(target: &Target) -> Result<Response> {
    HttpClient::new(READYZ_LIMIT).send("GET", &target.service.url("/readyz"), None, &Body::Empty)
}

/// The members of `/readyz` that are `ok` before the failure.
fn ok_members(target: &Target) -> Result<BTreeSet<String>> {
    let response = readyz(target)?;
    ensure!(response.status == 200, "/readyz of {} is {}", target.service.name, response.json);
    let members = response.json.as_object().into_iter().flatten();
    Ok(members.filter(|(_, value)| *value == "ok").map(|(name, _)| name.clone()).collect())
}
