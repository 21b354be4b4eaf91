//! Replicas are restarted one after the other, killed, and frozen under traffic through the proxy.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use testkit::processes::checkout::SERVICES;
use testkit::processes::http::Response;

use crate::ledger::Ledger;
use crate::replicas::deployment::{Deployment, drain, fail_timeout};
use crate::traffic::{Client, Outcome, Record, Records, SEED_ORG, SEEDED, Traffic, Workload, new_prefix};

/// Time until all workloads succeed.
const HEALTHY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time until a stopping replica has ended, beyond `drain_seconds`.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Time until a client learns that the replica of its request was killed, and until the proxy uses another.
const FAILOVER_TIME: Duration = Duration::from_secs(1);
/// Runs all three.
pub fn run(deployment: &mut Deployment<'_>) -> Result<()> {
    let clients = Clients::new(deployment)?;
    rolling_restart(deployment, &clients)?;
    if deployment.trial.short {
        kill(deployment, &clients, &SERVICES)?;
    } else {
        SERVICES.iter().try_for_each(|name| kill(deployment, &clients, &[name]))?;
    }
    freeze(deployment, &clients)
}

/// Starts traffic and waits until all workloads succeed.
fn start(deployment: &Deployment<'_>, workloads: Vec<Workload>) -> Result<Traffic> {
    let traffic = Traffic::start(workloads);
    traffic.wait_healthy(deployment.trial, Instant::now(), HEALTHY_TIMEOUT).context("before the failure")?;
    Ok(traffic)
}

/// Waits until all workloads succeed and stops the traffic.
fn finish(deployment: &Deployment<'_>, traffic: Traffic) -> Result<Records> {
    traffic.wait_healthy(deployment.trial, Instant::now(), HEALTHY_TIMEOUT)?;
    Ok(traffic.finish())
}

/// Prints the first of these records and returns their number.
fn print_failures<'a>(failures: impl Iterator<Item = &'a Record>) -> usize {
    let failures: Vec<_> = failures.collect();
    failures.iter().take(5).for_each(|record| eprintln!("    failed: {record}"));
    failures.len()
}

/// Stops and starts each replica; the short form one of each service at the same time.
fn rolling_restart(deployment: &mut Deployment<'_>, clients: &Clients) -> Result<()> {
    let (trial, prefix) = (deployment.trial, new_prefix());
    let drain = drain(trial.short);
    let ranges = SERVICES.map(|name| deployment.stack.range(name));
    let count = deployment.stack.services.len();
    let rounds: Vec<Vec<usize>> = if trial.short {
        (0..3).map(|round| ranges.iter().filter_map(|range| range.clone().nth(round)).collect()).collect()
    } else {
        (0..count).map(|index| vec![index]).collect()
    };
    let traffic = start(deployment, clients.workloads(&prefix))?;
    let mut slowest_restart = Duration::ZERO;
    for round in rounds {
        let begun = Instant::now();
        for index in &round {
            deployment.stack.services[*index].signal(Signal::TERM);
        }
        for index in &round {
            deployment.stack.services[*index].wait_ended(drain + STOP_TIMEOUT)?;
        }
        let ended = begun.elapsed();
        deployment.restart(&round)?;
        slowest_restart = slowest_restart.max(begun.elapsed().saturating_sub(drain));
        eprintln!("    replicas {round:?} ended after {ended:.1?}, ready after {:.1?}", begun.elapsed());
        pause_for_proxy(deployment)?;
    }
    let records = finish(deployment, traffic)?;
    let failed = print_failures(records.failures());
    let violations = clients.verify(deployment, &records, &prefix)?;
    let result = format!(
        "{}; failed {failed}, violations {violations}; slowest response {:.1} s, slowest restart {:.1} s beyond its drain",
        records.summary(),
        records.slowest().0.as_secs_f64(),
        slowest_restart.as_secs_f64(),
    );
    let what = format!("rolling restart of all {count} under traffic");
    trial.expect(failed == 0 && violations == 0, what, result, "failed 0, violations 0")
}

/// Waits until the proxy uses a replica again that refused a request.
fn pause_for_proxy(deployment: &Deployment<'_>) -> Result<()> {
    deployment.trial.pause(fail_timeout(deployment.trial.short) + Duration::from_millis(300))
}

/// Kills one replica of each of these services.
fn kill(deployment: &mut Deployment<'_>, clients: &Clients, names: &[&str]) -> Result<()> {
    let (trial, prefix) = (deployment.trial, new_prefix());
    let workloads = clients.workloads(&prefix);
    let threads = workloads.len();
    let traffic = start(deployment, workloads)?;
    let victims: Vec<_> = names.iter().map(|name| deployment.stack.range(name).start).collect();
    let before = Instant::now();
    victims.iter().try_for_each(|victim| deployment.stack.services[*victim].kill())?;
    let killed = Instant::now();
    trial.pause(2 * FAILOVER_TIME)?;
    deployment.restart(&victims)?;
    pause_for_proxy(deployment)?;
    let mut records = finish(deployment, traffic)?;
    let in_flight = records.in_flight(before, killed);
    // The proxy sends all but POSTs to another replica, unless the response has begun.
    let noticed = killed + trial.grace();
    let is_excusable = |record: &&Record| {
        let is_write = record.marker.is_some() && record.outcome == Outcome::Unknown;
        let was_in_flight =
            record.started <= noticed + FAILOVER_TIME / 4 && record.ended <= noticed + FAILOVER_TIME;
        (is_write || record.workload.streamed) && was_in_flight
    };
    let failed = records.failures().count();
    let inexcusable = print_failures(records.failures().filter(|record| !is_excusable(record)));
    let summary = records.summary();
    let resolved = records.resolve_unknown()?;
    let violations = clients.verify(deployment, &records, &prefix)?;
    let replicas = |name: &&str| format!("{name} of {}", deployment.replicas(name).len());
    let what = names.iter().map(replicas).collect::<Vec<_>>().join(", one ");
    trial.expect(
        inexcusable == 0 && violations == 0 && failed <= threads,
        format!("one {what} killed (-9) under traffic"),
        format!(
            "{summary}; {in_flight} in flight, failed {failed}, of which resolved by their keys {resolved}; \
             failed otherwise {inexcusable}, violations {violations}"
        ),
        format!("POSTs in flight, at most {threads}; otherwise 0; violations 0"),
    )
}

/// Freezes a replica for a while: clients of it wait, clients of others do not.
fn freeze(deployment: &Deployment<'_>, clients: &Clients) -> Result<()> {
    let (trial, prefixes) = (deployment.trial, [new_prefix(), new_prefix()]);
    let replicas = deployment.replicas("logistics");
    let proxied = start(deployment, clients.workloads(&prefixes[0]))?;
    let direct = start(deployment, clients.direct_workloads(replicas[1].url(""), &prefixes[1]))?;
    replicas[0].signal(Signal::STOP);
    let duration = Duration::from_secs(if trial.short { 2 } else { 5 });
    let paused = trial.pause(duration);
    replicas[0].signal(Signal::CONT);
    paused?;
    let (mut failed, mut violations) = (0, 0);
    let [proxied, direct] = [finish(deployment, proxied)?, finish(deployment, direct)?];
    for (records, prefix) in [&proxied, &direct].into_iter().zip(&prefixes) {
        failed += print_failures(records.failures());
        violations += clients.verify(deployment, records, prefix)?;
    }
    let (slowest, slowest_direct) = (proxied.slowest().0, direct.slowest().0);
    let direct_limit = FAILOVER_TIME + trial.grace();
    let limit = duration + direct_limit;
    trial.expect(
        failed == 0 && violations == 0 && slowest <= limit && slowest_direct <= direct_limit,
        format!("one logistics of {} frozen for {} s under traffic", replicas.len(), duration.as_secs()),
        format!(
            "{}; at another replica {}; failed {failed}, violations {violations}; slowest {:.1} s, at another \
             replica {:.1} s",
            proxied.summary(),
            direct.summary(),
            slowest.as_secs_f64(),
            slowest_direct.as_secs_f64()
        ),
        format!("0, 0; {} s, {} s", limit.as_secs(), direct_limit.as_secs()),
    )
}

/// Size of a large file in bytes. Its upload takes a while.
const LARGE: usize = 300_000;

/// Clients of the three services.
pub struct Clients {
    clients: Vec<Client>,
    ticket: String,
}

impl Clients {
    /// Seeds the services through the proxy.
    pub fn new(deployment: &Deployment<'_>) -> Result<Self> {
        let seed = |name| {
            let (url, database) = (deployment.proxy.url(name), Some(deployment.database.clone()));
            Client::seed(name, url, database, |org| deployment.token(Some(org)))
        };
        let clients = SERVICES.into_iter().map(seed).collect::<Result<Vec<_>>>()?;
        Ok(Self { ticket: clients[0].write("ticket")?, clients })
    }

    /// The workloads of all services through the proxy.
    pub fn workloads(&self, prefix: &str) -> Vec<Workload> {
        self.clients.iter().flat_map(|client| self.workloads_of(client, prefix)).collect()
    }

    /// The workloads of logistics at the address of a replica.
    pub fn direct_workloads(&self, url: String, prefix: &str) -> Vec<Workload> {
        self.workloads_of(&self.clients[1].at(url), prefix)
    }

    /// Reads, writes with and without keys, uploads, downloads, exports, and loads and listings with files, for which
    /// system is called.
    fn workloads_of(&self, client: &Client, prefix: &str) -> Vec<Workload> {
        let mut workloads = client.workloads(prefix);
        // A header and the seeded rows.
        let is_whole = |r: &Response| String::from_utf8_lossy(&r.bytes).lines().count() == SEEDED + 1;
        let mut more = match client.service {
            "system" => {
                let path = "/v1/locations/coordinates?lat=52.05&lon=-2.7";
                let place = client.reads("place", path, |r| r.json["threeWords"].is_string());
                [client.large_uploads(prefix, LARGE), place]
            }
            service => {
                let [resource, organisation] = match service {
                    "logistics" => ["loads", "organiserId"],
                    _ => ["listings", "organisationId"],
                };
                let path = format!("/v1/{resource}?format=CSV&f:{organisation}={SEED_ORG}");
                [client.writes_with_file(prefix, &self.ticket), client.reads("export", path, is_whole)]
            }
        };
        for workload in workloads.iter_mut().chain(&mut more) {
            workload.streamed = ["download", "export"].contains(&workload.name);
        }
        workloads.extend(more);
        workloads
    }

    /// Compares all recorded writes with what is stored. Returns the number of violations.
    pub fn verify(&self, deployment: &Deployment<'_>, records: &Records, prefix: &str) -> Result<usize> {
        let mut ledger = Ledger::default();
        for client in &self.clients {
            client.verify(deployment.trial, records, prefix, &mut ledger)?;
        }
        Ok(ledger.violations())
    }
}
