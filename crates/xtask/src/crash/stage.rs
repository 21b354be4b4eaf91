//! The three services over one folder: killed, started again, and looked into behind their backs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::line::{Addresses, ORGANISATIONS, OTHER, OWN, SYSTEM};
use crate::service::Service;
use crate::trial::Trial;
use crate::workspace::SERVICES;

/// Content without a record may be removed when it is so old, in seconds: some rounds see the sweep at work.
const GRACE: &str = "10";

/// The services of a trial.
#[derive(Debug)]
pub struct Stage<'a> {
    pub trial: &'a Trial<'a>,
    pub services: [Service; 3],
    pub addresses: Addresses,
    pub kills: usize,
    /// From the start of a process to its being ready, at most.
    pub slowest: Duration,
    pub postgres: bool,
}

impl<'a> Stage<'a> {
    /// Starts them over databases of their own.
    pub fn start(trial: &'a Trial<'a>, postgres: bool) -> Result<Self> {
        let folder = if postgres { "crash-postgres" } else { "crash-sqlite" };
        let start = |name, environment| {
            let database = postgres.then(|| trial.databases.create(name)).transpose()?;
            trial.service(name, folder, database, environment)
        };
        let told = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let system = start(SERVICES[0], told("DROVER_SERVICE__SWEEP_GRACE_SECONDS", GRACE))?;
        let to_system = || told("DROVER_SERVICE__SYSTEM_URL", &system.url(""));
        let (logistics, livestock) = (start(SERVICES[1], to_system())?, start(SERVICES[2], to_system())?);
        let tokens = [
            system.token(Some(ORGANISATIONS[OWN])),
            system.token(Some(ORGANISATIONS[OTHER])),
            system.token(None),
        ];
        let services = [system, logistics, livestock];
        let addresses = Addresses { urls: services.each_ref().map(|service| service.url("")), tokens };
        Ok(Self { trial, services, addresses, kills: 0, slowest: Duration::ZERO, postgres })
    }

    /// Kills some of them, at once.
    pub fn kill(&mut self, victims: &[usize]) -> Result<()> {
        self.kills += victims.len();
        victims.iter().try_for_each(|victim| self.services[*victim].kill())
    }

    /// Starts them again and waits for nothing.
    pub fn launch(&mut self, victims: &[usize]) -> Result<()> {
        victims.iter().try_for_each(|victim| self.services[*victim].launch_again())
    }

    /// Waits until those that were launched just now are ready.
    pub fn wait_ready(&mut self, victims: &[usize]) -> Result<()> {
        let begun = Instant::now();
        victims.iter().try_for_each(|victim| self.services[*victim].wait_ready(self.trial, begun))?;
        self.slowest = self.slowest.max(begun.elapsed());
        Ok(())
    }

    /// The first column of what a statement finds in the database of a service.
    pub fn ask(&self, service: usize, statement: &str) -> Result<Vec<String>> {
        let service = &self.services[service];
        let said = if self.postgres {
            self.trial.databases.say(service.name, statement)?
        } else {
            let file = self.trial.path("statement");
            fs::write(&file, statement)?;
            let mut limits = Command::new(self.trial.binaries.join("limits"));
            let output = limits.arg("sqlite-print").args([&service.sqlite(), &file]).arg("1").output();
            let output = output.context("cannot run limits: cargo build -p limits")?;
            if !output.status.success() {
                bail!("{}: {}", service.name, String::from_utf8_lossy(&output.stderr).trim());
            }
            String::from_utf8(output.stdout)?
        };
        Ok(said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// What the databases themselves find wrong with them. PostgreSQL needs no such question: nobody killed it.
    pub fn damage(&self) -> Result<Vec<String>> {
        let mut damage = Vec::new();
        for service in (0..SERVICES.len()).filter(|_| !self.postgres) {
            let said =
                ["PRAGMA integrity_check", "PRAGMA foreign_key_check"].map(|ask| self.ask(service, ask));
            for line in said.into_iter().collect::<Result<Vec<_>>>()?.concat() {
                if line != "ok" {
                    damage.push(format!("{}: {line}", SERVICES[service]));
                }
            }
        }
        Ok(damage)
    }

    /// Where uploads wait until they are whole.
    pub fn staging(&self) -> PathBuf {
        self.services[SYSTEM].data().join("files/.staging")
    }

    /// How a column of ids is read in a statement: as 32 hex digits.
    pub fn hex(&self, column: &str) -> String {
        if self.postgres {
            format!("replace({column}::text, '-', '')")
        } else {
            format!("lower(hex({column}))")
        }
    }
}
