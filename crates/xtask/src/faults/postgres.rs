//! PostgreSQL stopped, killed, cut off, silent, slow, full and closed for writing, seen by all three services.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::endure::Fault;
use super::wire::{State, Wire};
use crate::databases::Databases;
use crate::load::site::Site;
use crate::servers::Cluster;
use crate::service::Environment;
use crate::trial::Trial;
use crate::workspace::SERVICES;

/// What is written is on the disk when it is answered: here servers are killed.
const SAFE: [&str; 1] = ["synchronous_commit=on"];
/// Fewer connections than the services want.
const FEW: [&str; 2] = ["max_connections=5", "superuser_reserved_connections=0"];
/// A service that is told to stop ends by then, whatever its database does.
const STOPPED: Duration = Duration::from_secs(15);

/// The server and the wire to it. Databases go while it is still there.
struct Stage<'a, 'b> {
    trial: &'a Trial<'b>,
    databases: Databases,
    wire: Wire,
    cluster: Cluster,
}

/// All of that, or the most telling.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let cluster = Cluster::start_with(&trial.servers.programs().postgres, &SAFE, trial.stop)?;
    let (wire, databases) = (Wire::to(cluster.port)?, Databases::new(&cluster.url())?);
    let mut stage = Stage { trial, databases, wire, cluster };
    let sites = SERVICES.map(|name| {
        let url = stage.databases.create(name)?;
        let url = url.replace(&format!(":{}/", stage.cluster.port), &format!(":{}/", stage.wire.port()));
        // The short form has no time for waiting as long as usual.
        let wait = ("DROVER_DATABASE__WAIT_MS".to_owned(), "1500".to_owned());
        let environment = if trial.short { vec![wait] } else { Environment::new() };
        Site::new(trial.service(name, &format!("postgres-{name}"), Some(url), environment)?)
    });
    let sites = sites.into_iter().collect::<Result<Vec<_>>>()?;
    let result = stage.break_all(&sites.iter().collect::<Vec<_>>());
    // All at once, not one after the other.
    for site in &sites {
        site.service.signal(Signal::TERM);
    }
    result
}

impl Stage<'_, '_> {
    fn break_all(&mut self, sites: &[&Site]) -> Result<()> {
        self.stopped(sites)?;
        self.cut(sites)?;
        self.silent(sites)?;
        if self.trial.short {
            return Ok(());
        }
        self.killed(sites)?;
        self.forgotten(sites)?;
        self.slow(sites)?;
        self.full(sites)?;
        self.closed(sites)?;
        self.ending(sites)
    }

    fn fault<'s>(&'s self, what: &'s str, sites: &[&'s Site]) -> Fault<'s> {
        Fault { databases: Some(&self.databases), ..Fault::new(what, sites.to_vec()) }
    }

    fn hold(&self) -> Duration {
        Duration::from_secs(if self.trial.short { 3 } else { 8 })
    }

    /// Breaks and mends the server itself, whose databases are asked afterwards.
    fn restarted(
        &mut self,
        what: &str,
        sites: &[&Site],
        hold: Duration,
        shown: bool,
        (signal, meanwhile): (Signal, &[&'static str]),
    ) -> Result<()> {
        let (databases, stop) = (&self.databases, self.trial.stop);
        let cluster = std::cell::RefCell::new(&mut self.cluster);
        let member = shown.then_some("database");
        let fault = Fault {
            databases: Some(databases),
            hold,
            shows: member,
            refuses: shown,
            ..Fault::new(what, sites.to_vec())
        };
        let events = fault.endure(
            self.trial,
            || {
                cluster.borrow_mut().end(signal)?;
                if meanwhile.is_empty() { Ok(()) } else { cluster.borrow_mut().start_again(meanwhile, stop) }
            },
            || {
                if !meanwhile.is_empty() {
                    cluster.borrow_mut().end(Signal::INT)?;
                }
                cluster.borrow_mut().start_again(&[], stop)
            },
        );
        events.map(drop)
    }

    fn stopped(&mut self, sites: &[&Site]) -> Result<()> {
        let hold = self.hold();
        self.restarted("PostgreSQL stopped, started", sites, hold, true, (Signal::INT, &[]))
    }

    fn killed(&mut self, sites: &[&Site]) -> Result<()> {
        let hold = Duration::from_secs(1);
        self.restarted("PostgreSQL killed (-9), started after 1 s", sites, hold, false, (Signal::KILL, &[]))
    }

    fn full(&mut self, sites: &[&Site]) -> Result<()> {
        let hold = self.hold();
        self.restarted(
            "PostgreSQL with 5 connections for 3 services",
            sites,
            hold,
            false,
            (Signal::INT, &FEW),
        )
    }

    fn cut(&self, sites: &[&Site]) -> Result<()> {
        let times = if self.trial.short { 4 } else { 20 };
        let cut = || {
            for _ in 0..times {
                self.wire.cut();
                sleep(Duration::from_millis(150));
            }
            Ok(())
        };
        let what = format!("connections to PostgreSQL cut {times} times");
        let fault = Fault { hold: Duration::ZERO, ..self.fault(&what, sites) };
        fault.endure(self.trial, cut, || Ok(())).map(drop)
    }

    fn silent(&self, sites: &[&Site]) -> Result<()> {
        let fault = self.fault("PostgreSQL silent (takes all, answers nothing)", sites);
        let fault = Fault {
            hold: self.hold() + Duration::from_secs(2),
            shows: Some("database"),
            refuses: true,
            ..fault
        };
        fault.endure(self.trial, || self.set(State::Silent), || self.set(State::Whole)).map(drop)
    }

    fn forgotten(&self, sites: &[&Site]) -> Result<()> {
        let fault = self.fault("PostgreSQL silent; old connections stay so for ever", sites);
        let fault = Fault { hold: self.hold(), refuses: true, ..fault };
        let mend = || {
            self.wire.forget();
            self.set(State::Whole)
        };
        fault.endure(self.trial, || self.set(State::Silent), mend)?;
        self.wire.cut(); // for the next fault
        Ok(())
    }

    fn slow(&self, sites: &[&Site]) -> Result<()> {
        for (ms, refuses) in [(40, false), (1_200, true)] {
            let what = format!("PostgreSQL {ms} ms away, each way");
            // A request may be several calls, each of them within its time.
            let fault = Fault {
                hold: self.hold(),
                slowest: Duration::from_secs(20),
                refuses,
                ..self.fault(&what, sites)
            };
            let slow = State::Slow(Duration::from_millis(ms));
            fault.endure(self.trial, || self.set(slow), || self.set(State::Whole))?;
        }
        Ok(())
    }

    fn closed(&self, sites: &[&Site]) -> Result<()> {
        let fault = Fault { refuses: true, ..self.fault("PostgreSQL closed for writing", sites) };
        let alter = |what: &str| {
            let statements = format!("ALTER SYSTEM {what};\nSELECT pg_reload_conf();\n");
            self.databases.say("system", &statements).map(drop)
        };
        fault
            .endure(
                self.trial,
                || alter("SET default_transaction_read_only = on"),
                || alter("RESET default_transaction_read_only"),
            )
            .map(drop)
    }

    /// A stop is not kept by threads that wait for an answer that does not come.
    fn ending(&self, sites: &[&Site]) -> Result<()> {
        self.set(State::Silent)?;
        for site in sites {
            let token = site.service.token(None);
            let asked = site.service.get("/v1/settings", &token);
            ensure!(asked.is_err(), "settings were read of a database that is silent");
            let told = Instant::now();
            site.service.signal(Signal::TERM);
            while site.service.is_running() && told.elapsed() < 2 * STOPPED {
                self.trial.pause(Duration::from_millis(20))?;
            }
            let (took, name) = (told.elapsed(), site.service.name);
            let figure = format!("{:.1} s", took.as_secs_f64());
            self.trial.expect(
                took < STOPPED,
                format!("{name} stopped while PostgreSQL is silent"),
                figure,
                "15 s",
            )?;
        }
        self.set(State::Whole)
    }

    #[expect(clippy::unnecessary_wraps, reason = "as all that breaks and mends")]
    fn set(&self, state: State) -> Result<()> {
        self.wire.set(state);
        Ok(())
    }
}
