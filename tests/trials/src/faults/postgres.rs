//! PostgreSQL stops, crashes, loses connections, stalls, slows down, runs out of connections and becomes read-only,
//! with all three services over it.

use std::cell::RefCell;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;
use stack::checkout::SERVICES;
use stack::databases::Databases;
use stack::environment::variables;
use stack::servers::Cluster;
use stack::trial::Trial;

use super::fault::Fault;
use crate::chaos::wire::{Mode, TcpProxy};
use crate::traffic::Target;

/// The cluster is killed, so commits must be durable.
const DURABLE: [&str; 1] = ["synchronous_commit=on"];
/// Fewer connections than the services want.
const FEW_CONNECTIONS: [&str; 2] = ["max_connections=5", "superuser_reserved_connections=0"];
/// Limit of a response that consists of several slow calls, each with its own timeout.
const SLOW_RESPONSE_LIMIT: Duration = Duration::from_secs(20);
/// Limit until a service has stopped, whatever its database does.
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// The services end before the databases are dropped, and those before the cluster ends.
struct Setup<'a> {
    trial: &'a Trial<'a>,
    targets: Vec<Target>,
    databases: Databases,
    proxy: TcpProxy,
    cluster: RefCell<Cluster>,
}

/// Runs all faults of PostgreSQL, or in the short form three.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let cluster = Cluster::start_with(&trial.servers.programs().postgres, &DURABLE, trial.stop)?;
    let (proxy, databases) = (TcpProxy::start(cluster.port)?, Databases::new(&cluster.url())?);
    let proxied = |url: String| url.replace(&format!(":{}/", cluster.port), &format!(":{}/", proxy.port()));
    let wait = trial.short.then_some(("DATABASE__WAIT_MS", "1500"));
    let start = |name| {
        let url = Some(proxied(databases.create(name)?));
        Target::new(trial.service(name, &format!("postgres-{name}"), url, variables(wait))?)
    };
    let targets = SERVICES.into_iter().map(start).collect::<Result<_>>()?;
    let setup = Setup { trial, targets, databases, proxy, cluster: RefCell::new(cluster) };
    let result = setup.run();
    // All at once: dropping them would stop one after the other.
    for target in &setup.targets {
        target.service.signal(Signal::TERM);
    }
    result
}

impl Setup<'_> {
    fn run(&self) -> Result<()> {
        let cuts = if self.trial.short { 4 } else { 20 };
        self.fault("PostgreSQL stopped, started")
            .shown_as("database")
            .refusing()
            .run(|| self.end(Signal::INT), || self.start(&[]))?;
        self.fault(format!("connections to PostgreSQL cut {cuts} times"))
            .lasting(Duration::ZERO)
            .run(|| self.cut(cuts), || Ok(()))?;
        self.fault("PostgreSQL stalled")
            .lasting(self.duration() + Duration::from_secs(2))
            .shown_as("database")
            .refusing()
            .run_at(&self.proxy, Mode::Stalled)?;
        if self.trial.short {
            return Ok(());
        }
        self.fault("PostgreSQL killed (-9), started after 1 s")
            .lasting(Duration::from_secs(1))
            .run(|| self.end(Signal::KILL), || self.start(&[]))?;
        self.fault("PostgreSQL stalled, its open connections for good")
            .refusing()
            .run(|| self.set(Mode::Stalled), || self.forward_new_connections())?;
        self.proxy.cut();
        for (ms, refuses) in [(40, false), (1_200, true)] {
            let fault = self.fault(format!("PostgreSQL {ms} ms away, each way"));
            let fault = fault.responses_within(SLOW_RESPONSE_LIMIT);
            let fault = if refuses { fault.refusing() } else { fault };
            fault.run_at(&self.proxy, Mode::Delayed(Duration::from_millis(ms)))?;
        }
        let restart = |settings| self.end(Signal::INT).and_then(|()| self.start(settings));
        self.fault("PostgreSQL with 5 connections for 3 services")
            .run(|| restart(&FEW_CONNECTIONS), || restart(&[]))?;
        self.fault("PostgreSQL read-only").lasting(Duration::from_secs(3)).refusing().run(
            || self.alter("SET default_transaction_read_only = on"),
            || self.alter("RESET default_transaction_read_only"),
        )?;
        self.stop_services()
    }

    fn fault(&self, name: impl Into<String>) -> Fault<'_> {
        Fault::new(self.trial, name, self.targets.iter().collect()).lasting(self.duration())
    }

    fn duration(&self) -> Duration {
        Duration::from_secs(if self.trial.short { 3 } else { 8 })
    }

    fn end(&self, signal: Signal) -> Result<()> {
        self.cluster.borrow_mut().end(signal)
    }

    fn start(&self, settings: &[&'static str]) -> Result<()> {
        self.cluster.borrow_mut().start_again(settings, self.trial.stop)
    }

    #[expect(clippy::unnecessary_wraps, reason = "a step of a fault")]
    fn cut(&self, times: usize) -> Result<()> {
        for _ in 0..times {
            self.proxy.cut();
            sleep(Duration::from_millis(150));
        }
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "a step of a fault")]
    fn set(&self, mode: Mode) -> Result<()> {
        self.proxy.set(mode);
        Ok(())
    }

    fn forward_new_connections(&self) -> Result<()> {
        self.proxy.stall_open_connections();
        self.set(Mode::Forward)
    }

    fn alter(&self, change: &str) -> Result<()> {
        let statements = format!("ALTER SYSTEM {change};\nSELECT pg_reload_conf();\n");
        self.databases.execute_for("system", &statements).map(drop)
    }

    /// Checks that services stop in time although their threads wait for the database.
    fn stop_services(&self) -> Result<()> {
        self.set(Mode::Stalled)?;
        for Target { service, .. } in &self.targets {
            let settings = service.get("/v1/settings", &service.token(None));
            ensure!(settings.is_err(), "settings were read from a stalled database");
            let begun = Instant::now();
            service.signal(Signal::TERM);
            self.trial.wait_for("a service stops", 2 * STOP_LIMIT, || Ok(!service.is_running()))?;
            let took = begun.elapsed();
            self.trial.expect(
                took < STOP_LIMIT,
                format!("{} stopped while PostgreSQL is stalled", service.name),
                format!("{:.1} s", took.as_secs_f64()),
                format!("{} s", STOP_LIMIT.as_secs()),
            )?;
        }
        self.set(Mode::Forward)
    }
}
