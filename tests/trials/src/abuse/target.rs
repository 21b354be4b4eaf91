//! A service under attack, and the limits of what an attack may cost it and its honest clients.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use stack::service::ServiceProcess;
use stack::trial::Trial;

use super::honest::HonestClients;
use super::outcomes::Outcomes;
use super::socket::{Socket, head};
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
