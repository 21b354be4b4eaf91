//! Traffic while something happens to the containers, and how its requests ended.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use stack::checkout::SERVICES;
use stack::trial::Trial;

use super::plain_http::PlainHttp;
use super::project::Project;
use crate::ledger::Ledger;
use crate::traffic::{Client, Traffic, Workload, new_prefix};

/// Time until all requests succeed, before and after.
const SUCCESS_TIMEOUT: Duration = Duration::from_secs(60);

/// Clients of the three services.
pub struct Clients<'a> {
    trial: &'a Trial<'a>,
    clients: Vec<Client>,
}

/// How the requests ended.
pub struct Outcomes {
    /// Number of responses by status.
    pub summary: String,
    /// Number of requests without success.
    pub failed: usize,
    /// Of those: responses that are no error body of docs/api/errors.md, and failures of other services.
    pub unexpected: usize,
    /// Time from the first failure to the last one.
    pub failed_for: Duration,
    /// Time from the end of the action to the last failure.
    pub recovered: Duration,
    /// The longest time until a response was complete.
    pub slowest: Duration,
    /// Writes that were acknowledged and are not stored once, or that were refused and are stored.
    pub violations: usize,
}

impl Outcomes {
    /// The figures as a text.
    pub fn figures(&self) -> String {
        let [failed_for, recovered, slowest] =
            [self.failed_for, self.recovered, self.slowest].map(|time| time.as_secs_f64());
        let Self { summary, failed, unexpected, violations, .. } = self;
        let failures = if *failed > 0 {
            format!(
                " within {failed_for:.1} s, the last {recovered:.1} s after the repair, unexpected {unexpected}"
            )
        } else {
            String::new()
        };
        format!("{summary}; failed {failed}{failures}; slowest {slowest:.1} s; violations {violations}")
    }
}

impl<'a> Clients<'a> {
    /// Seeds all services.
    pub fn new(trial: &'a Trial<'a>, project: &Project<'_>, http: &PlainHttp) -> Result<Self> {
        let clients = SERVICES.map(|service| project.client(service, http.url(service), None));
        Ok(Self { trial, clients: clients.into_iter().collect::<Result<_>>()? })
    }

    /// Uploads a file and returns its id.
    pub fn ticket(&self) -> Result<String> {
        self.clients[0].write("ticket")
    }

    /// Performs an action while clients read from all services and write to some. It may affect those only.
    pub fn during(&self, affected: &[&str], action: impl FnOnce() -> Result<()>) -> Result<Outcomes> {
        let one_read =
            |all: Vec<Workload>| all.into_iter().rfind(|each| !each.is_write()).into_iter().collect();
        self.during_traffic(affected, one_read, action)
    }

    /// Performs an action while clients read from all services and write to all. It may affect some only.
    pub fn during_writes(&self, affected: &[&str], action: impl FnOnce() -> Result<()>) -> Result<Outcomes> {
        self.during_traffic(affected, |all| all, action)
    }

    /// `select`: which workloads the services have that the action must not affect.
    fn during_traffic(
        &self,
        affected: &[&str],
        select: impl Fn(Vec<Workload>) -> Vec<Workload>,
        action: impl FnOnce() -> Result<()>,
    ) -> Result<Outcomes> {
        let prefix = new_prefix();
        let mut workloads = Vec::new();
        for client in &self.clients {
            let all = client.workloads(&prefix);
            if affected.contains(&client.service) {
                workloads.extend(all);
            } else {
                workloads.extend(select(all).into_iter().map(Workload::unaffected));
            }
        }
        during(self.trial, &self.clients, &prefix, workloads, action)
    }
}

/// Performs an action under traffic. Afterwards everything must work again, and what is stored is compared with what
/// was acknowledged.
pub fn during(
    trial: &Trial<'_>,
    clients: &[Client],
    prefix: &str,
    workloads: Vec<Workload>,
    action: impl FnOnce() -> Result<()>,
) -> Result<Outcomes> {
    let traffic = Traffic::start(workloads);
    traffic.wait_healthy(trial, Instant::now(), SUCCESS_TIMEOUT).context("before the action")?;
    action()?;
    let ended = Instant::now();
    traffic.wait_healthy(trial, ended, SUCCESS_TIMEOUT).context("after the action")?;
    let mut records = traffic.finish();
    for record in records.unexpected().take(5) {
        eprintln!("    unexpected: {record}");
    }
    let first = records.failures().map(|record| record.started).min();
    let mut outcomes = Outcomes {
        summary: records.summary(),
        failed: records.failures().count(),
        unexpected: records.unexpected().count(),
        failed_for: first.map(|first| records.last_failure(first)).unwrap_or_default(),
        recovered: records.last_failure(ended),
        slowest: records.slowest().0,
        violations: 0,
    };
    records.resolve_unknown()?;
    let mut ledger = Ledger::default();
    for client in clients {
        client.verify(trial, &records, prefix, &mut ledger)?;
    }
    outcomes.violations = ledger.violations();
    Ok(outcomes)
}
