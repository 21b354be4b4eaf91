//! A service under attack, its honest clients, which send requests at a modest rate on kept and on new connections, and
//! the limits of what an attack may cost them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};
use std::{fmt, fs};

use anyhow::{Context, Result, ensure};
use testkit::processes::http::{HttpClient, Response};
use testkit::processes::process_stats;
use testkit::processes::service::ServiceProcess;
use testkit::processes::trial::Trial;

use crate::abuse::socket::{Socket, head};
use crate::traffic::Request;

/// Limit of the p99 of honest clients in milliseconds, for debug builds on a busy machine too.
const MAX_P99: f64 = 3000.0;
/// Limit of the retries of honest clients during an attack.
const MAX_RETRIES: usize = 5;
/// Open files beyond those before the first attack: connections of honest clients and of the database.
const MAX_MORE_FILES: usize = 25;
/// Limit of the time until the files of an attack are closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);
/// Memory in MiB that a service may keep after all attacks.
const MAX_KEPT_MEMORY: f64 = 200.0;

/// A service under attack.
pub struct Target<'a> {
    /// The trial.
    pub trial: &'a Trial<'a>,
    /// The service.
    pub service: ServiceProcess,
    /// Token of the attacker.
    pub token: String,
    /// Name in the table.
    name: String,
    honest: HonestClients,
    /// p99 of the honest clients without an attack, in milliseconds.
    undisturbed_p99: f64,
    /// Open files before the first attack.
    open_files: usize,
    /// Memory before the first attack, in MiB.
    memory: f64,
}

/// The limits of an attack.
pub struct Limits<'a> {
    /// Accepted outcomes of the attacker's requests.
    pub outcomes: &'a [&'a str],
    /// Additional memory in MiB.
    pub memory: f64,
}

/// A request of an attacker: its name, the request, and its only accepted outcome.
pub type Case<R> = (&'static str, R, &'static str);

impl<'a> Target<'a> {
    /// Measures a service and its honest clients without an attack.
    pub fn new(
        trial: &'a Trial<'a>,
        service: ServiceProcess,
        name: String,
        token: String,
        honest: Vec<Request>,
    ) -> Result<Self> {
        let honest = HonestClients(honest);
        let ((), observed) = honest.run_during(service.pid(), || Ok(()))?;
        let failure = observed.failures.first();
        ensure!(failure.is_none(), "an honest request failed without an attack: {failure:?}");
        let (open_files, memory) = (open_files(service.pid())?, service.memory()?.anon);
        let undisturbed_p99 = observed.p99();
        Ok(Self { trial, service, token, name, honest, undisturbed_p99, open_files, memory })
    }

    /// Port of the service.
    pub fn port(&self) -> u16 {
        self.service.port()
    }

    /// The head of a request of the attacker, with the empty line after it.
    pub fn head(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        head(method, path, Some(&self.token), headers) + "\r\n"
    }

    /// Runs an attack while honest clients use the service, and checks its limits.
    pub fn attack(
        &self,
        attack: &str,
        limits: &Limits<'_>,
        run: impl FnOnce() -> Result<Outcomes>,
    ) -> Result<()> {
        self.trial.check()?;
        let Limits { outcomes: accepted, memory } = limits;
        let before = self.service.memory()?.anon;
        let (outcomes, honest) =
            self.honest.run_during(self.service.pid(), run).with_context(|| attack.to_owned())?;
        self.wait_files_closed().with_context(|| attack.to_owned())?;
        let after = self.service.memory().with_context(|| format!("{} ended: {attack}", self.name))?.anon;
        let (peak, p99) = (honest.peak_memory.max(after), honest.p99());
        let is_right = outcomes.are_only(accepted)
            && peak - before <= *memory
            && p99 <= MAX_P99
            && honest.failures.is_empty()
            && honest.retries <= MAX_RETRIES;
        let failures = honest.failures.first();
        let failures = failures
            .map(|first| format!(", {} failed (first: {first})", honest.failures.len()))
            .unwrap_or_default();
        let accepted = accepted.join(" or ");
        self.expect(
            is_right,
            attack,
            format!(
                "{outcomes}; {before:.0} → {peak:.0} → {after:.0} MiB; \
                 p99 of {} honest requests {p99:.1} ms ({:.1} ms without attack), {} retries{failures}",
                honest.durations.len(),
                self.undisturbed_p99,
                honest.retries,
            ),
            format!(
                "{accepted}; {memory:.0} MiB more; p99 {MAX_P99:.0} ms, none failed, {MAX_RETRIES} retries"
            ),
        )
    }

    /// Attacks with requests one after the other. `send` returns the outcome of a request.
    pub fn attack_with<R>(
        &self,
        attack: &str,
        memory: f64,
        cases: Vec<Case<R>>,
        mut send: impl FnMut(&'static str, R) -> Result<String>,
    ) -> Result<()> {
        let accepted: BTreeSet<_> = cases.iter().map(|(.., accepted)| *accepted).collect();
        let accepted: Vec<_> = accepted.into_iter().collect();
        self.attack(attack, &Limits { outcomes: &accepted, memory }, || {
            let mut outcomes = Outcomes::default();
            for (name, request, accepted) in cases {
                self.trial.check()?;
                let outcome = send(name, request)?;
                outcomes.add(if outcome == accepted { outcome } else { format!("{name} {outcome}") });
            }
            Ok(outcomes)
        })
    }

    /// Attacks with requests of paths, one after the other on one connection. All must have the same outcome.
    pub fn attack_paths(
        &self,
        attack: &str,
        memory: f64,
        outcome: &str,
        paths: impl Iterator<Item = String>,
    ) -> Result<()> {
        let mut socket = Socket::open(self.port())?;
        self.attack(attack, &Limits { outcomes: &[outcome], memory }, || {
            let mut outcomes = Outcomes::default();
            for path in paths {
                self.trial.check()?;
                outcomes.add(socket.exchange(&self.head("GET", &path, &[])));
            }
            Ok(outcomes)
        })
    }

    /// Records a result of the service and fails unless it is right.
    pub fn expect(
        &self,
        is_right: bool,
        check: &str,
        result: impl Into<String>,
        limit: impl Into<String>,
    ) -> Result<()> {
        self.trial.expect(is_right, format!("{}: {check}", self.name), result, limit)
    }

    /// Checks the memory that the service keeps after all attacks.
    pub fn check_memory(&self) -> Result<()> {
        let (before, after) = (self.memory, self.service.memory()?.anon);
        self.expect(
            after - before <= MAX_KEPT_MEMORY,
            "memory after all attacks",
            format!("{before:.0} → {after:.0} MiB"),
            format!("{MAX_KEPT_MEMORY:.0} MiB more"),
        )
    }

    /// Waits until the service has closed the files of an attack, and in the long form until it has freed memory.
    fn wait_files_closed(&self) -> Result<()> {
        self.trial.pause(Duration::from_secs(if self.trial.short { 0 } else { 5 }))?;
        let open = || open_files(self.service.pid());
        let are_closed = || Ok(open()? <= self.open_files + MAX_MORE_FILES);
        let waited = self.trial.wait_for("all files are closed", CLOSE_TIMEOUT, are_closed);
        waited.map(drop).with_context(|| format!("{:?} files are open, {} at first", open(), self.open_files))
    }
}

/// Number of files that a process has open.
pub fn open_files(pid: u32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd")).context("cannot count open files: this needs Linux")?.count())
}

const CLIENTS: usize = 4;
/// Time between two requests of a client.
const PERIOD: Duration = Duration::from_millis(100);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Requests that each client sends, however short the attack is.
const MIN_REQUESTS: usize = 5;
/// Time between two readings of the memory.
const SAMPLE_PERIOD: Duration = Duration::from_millis(20);

/// The requests that honest clients repeat.
pub struct HonestClients(pub Vec<Request>);

/// What honest clients observed during an attack.
#[derive(Debug, Default)]
pub struct Observed {
    /// Durations of the successful requests, the shortest first.
    pub durations: Vec<Duration>,
    /// Descriptions of the failures.
    pub failures: Vec<String>,
    /// Number of requests that were sent again.
    pub retries: usize,
    /// Highest memory of the service in MiB.
    pub peak_memory: f64,
}

impl Observed {
    /// The 99th percentile of the durations in milliseconds, infinite without any.
    pub fn p99(&self) -> f64 {
        let index = (self.durations.len() * 99 / 100).min(self.durations.len().saturating_sub(1));
        self.durations.get(index).map_or(f64::INFINITY, |duration| duration.as_secs_f64() * 1000.0)
    }
}

impl HonestClients {
    /// Sends requests while `attack` runs against the process with this id.
    pub fn run_during<T>(&self, pid: u32, attack: impl FnOnce() -> Result<T>) -> Result<(T, Observed)> {
        let is_over = &AtomicBool::new(false);
        let (result, mut observed) = scope(|scope| {
            let clients: Vec<_> =
                (0..CLIENTS).map(|number| scope.spawn(move || self.run_client(number, is_over))).collect();
            let memory = scope.spawn(|| peak_memory(pid, is_over));
            let result = attack();
            is_over.store(true, Relaxed);
            let mut all = Observed { peak_memory: memory.join().unwrap_or_default(), ..Observed::default() };
            for client in clients {
                let one = client.join().unwrap_or_default();
                all.durations.extend(one.durations);
                all.failures.extend(one.failures);
                all.retries += one.retries;
            }
            (result, all)
        });
        observed.durations.sort_unstable();
        Ok((result.context("the attack was not completed")?, observed))
    }

    fn run_client(&self, number: usize, is_over: &AtomicBool) -> Observed {
        let (kept, mut observed) = (HttpClient::new(RESPONSE_TIMEOUT), Observed::default());
        for (turn, request) in (number..).zip(self.0.iter().cycle().skip(number)) {
            let is_enough = observed.durations.len() >= MIN_REQUESTS || !observed.failures.is_empty();
            if is_over.load(Relaxed) && is_enough {
                break;
            }
            let Request { method, url, token, body, .. } = request;
            let send = |client: &HttpClient| client.send(method, url, Some(token), body);
            let begun = Instant::now();
            let is_idempotent = *method == "GET";
            let uses_new = turn % 3 == 0 || !is_idempotent;
            let mut response = if uses_new { send(&HttpClient::new(RESPONSE_TIMEOUT)) } else { send(&kept) };
            // A kept connection may close just before the request, and a new one on a busy machine before its head
            // arrives. Clients retry then (RFC 9110, 9.2.2 and 15.5.9).
            if is_retryable(&response, is_idempotent) {
                observed.retries += 1;
                response = send(&HttpClient::new(RESPONSE_TIMEOUT));
            }
            match response {
                Ok(response) if response.status < 300 => observed.durations.push(begun.elapsed()),
                Ok(response) => observed.failures.push(format!("{url} {}", response.status)),
                Err(error) => observed.failures.push(format!("{url} {error:#}")),
            }
            sleep(PERIOD.saturating_sub(begun.elapsed()));
        }
        observed
    }
}

fn is_retryable(response: &Result<Response>, is_idempotent: bool) -> bool {
    response.as_ref().map_or(is_idempotent, |response| response.status == 408)
}

fn peak_memory(pid: u32, is_over: &AtomicBool) -> f64 {
    let mut peak = 0_f64;
    while !is_over.load(Relaxed) {
        peak = peak.max(process_stats::memory(pid).map_or(0.0, |memory| memory.anon));
        sleep(SAMPLE_PERIOD);
    }
    peak
}

/// Outcomes and their counts. An outcome is a status, `closed`, `silent`, or a text of the attack.
#[derive(Debug, Default)]
pub struct Outcomes(BTreeMap<String, usize>);

impl Outcomes {
    /// Counts an outcome.
    pub fn add(&mut self, outcome: impl Into<String>) {
        self.add_times(outcome, 1);
    }

    /// Counts an outcome several times.
    pub fn add_times(&mut self, outcome: impl Into<String>, times: usize) {
        if times > 0 {
            *self.0.entry(outcome.into()).or_default() += times;
        }
    }

    /// Whether all outcomes are among these.
    pub fn are_only(&self, accepted: &[&str]) -> bool {
        self.0.keys().all(|outcome| accepted.contains(&outcome.as_str()))
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (outcome, count)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{outcome}")?;
            if *count > 1 {
                write!(f, " ×{count}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p99_leaves_one_of_a_hundred_above() {
        let durations = (1..=200).map(Duration::from_millis).collect();
        assert!((Observed { durations, ..Observed::default() }.p99() - 199.0).abs() < 0.001);
        assert!(Observed::default().p99().is_infinite());
    }

    #[test]
    fn outcomes_are_counted() {
        let mut outcomes = Outcomes::default();
        for outcome in ["413", "closed", "413"] {
            outcomes.add(outcome);
        }
        outcomes.add_times("silent", 0);
        assert_eq!(outcomes.to_string(), "413 ×2, closed");
        assert!(outcomes.are_only(&["closed", "413"]) && !outcomes.are_only(&["413"]));
    }
}
