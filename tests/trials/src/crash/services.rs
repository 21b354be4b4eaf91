//! The three services with one data folder: killed, started again, and inspected through their databases.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testkit::processes::checkout::SERVICES;
use testkit::processes::environment::variables;
use testkit::processes::service::ServiceProcess;
use testkit::processes::trial::Trial;

use super::client::{Endpoints, LIVESTOCK, LOGISTICS, SYSTEM};
use super::fixture::{OWNER, PARTNER};

/// All services.
pub const ALL: [usize; 3] = [SYSTEM, LOGISTICS, LIVESTOCK];
/// Minimum age in seconds of contents without a record that system removes. Short, so the sweep runs in some rounds.
const SWEEP_GRACE: &str = "10";

/// The running services.
#[derive(Debug)]
pub struct Services<'a> {
    pub trial: &'a Trial<'a>,
    pub endpoints: Endpoints,
    pub is_postgres: bool,
    /// Number of killed processes.
    pub kills: usize,
    /// Longest time from the start of a process until it was ready.
    pub slowest_restart: Duration,
    processes: Vec<ServiceProcess>,
}

impl<'a> Services<'a> {
    /// Starts the services on empty databases.
    pub fn start(trial: &'a Trial<'a>, is_postgres: bool) -> Result<Self> {
        let folder = if is_postgres { "crash-postgres" } else { "crash-sqlite" };
        let mut config = trial.stack_config(folder, is_postgres)?;
        config.environment[SYSTEM] = variables([("SERVICE__SWEEP_GRACE_SECONDS", SWEEP_GRACE)]);
        let processes = trial.stack(&config)?.services;
        let endpoints = Endpoints {
            urls: ALL.map(|service| processes[service].url("")),
            tokens: [Some(OWNER.id), Some(PARTNER.id), None].map(|org| processes[SYSTEM].token(org)),
        };
        let slowest_restart = Duration::ZERO;
        Ok(Self { trial, endpoints, is_postgres, kills: 0, slowest_restart, processes })
    }

    /// Kills services.
    pub fn kill(&mut self, services: &[usize]) -> Result<()> {
        self.kills += services.len();
        services.iter().try_for_each(|service| self.processes[*service].kill())
    }

    /// Starts killed services again and does not wait for them.
    pub fn restart(&mut self, services: &[usize]) -> Result<()> {
        services.iter().try_for_each(|service| self.processes[*service].restart())
    }

    /// Waits until services that were restarted just now are ready.
    pub fn wait_ready(&mut self, services: &[usize]) -> Result<()> {
        let (begun, trial) = (Instant::now(), self.trial);
        for service in services {
            self.processes[*service].wait_ready(begun, || trial.check())?;
        }
        self.slowest_restart = self.slowest_restart.max(begun.elapsed());
        Ok(())
    }

    /// Runs `system sweep-files` and returns its output.
    pub fn sweep_files(&self) -> Result<String> {
        self.processes[SYSTEM].command(&["sweep-files"], &[])
    }

    /// Folder of the contents.
    pub fn contents(&self) -> PathBuf {
        self.processes[SYSTEM].data().join("files")
    }

    /// Folder of the uploads in progress.
    pub fn staging(&self) -> PathBuf {
        self.contents().join(".staging")
    }

    /// Runs an SQL query in the database of a service and returns the first column.
    pub fn query(&self, service: usize, sql: &str) -> Result<Vec<String>> {
        let process = &self.processes[service];
        let output = if self.is_postgres {
            self.trial.databases.execute_for(process.name, sql)?
        } else {
            let file = self.trial.path("statement");
            fs::write(&file, sql)?;
            let mut limits = Command::new(self.trial.binaries.join("limits"));
            limits.arg("sqlite-print").args([&process.config().sqlite(), &file]).arg("1");
            let output = limits.output().context("cannot run limits: cargo build -p limits")?;
            let error = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{}: {}", process.name, error.trim());
            String::from_utf8(output.stdout)?
        };
        Ok(output.lines().filter(|row| !row.is_empty()).map(str::to_owned).collect())
    }

    /// SQL that reads an id column as 32 hex digits.
    pub fn hex(&self, column: &str) -> String {
        if self.is_postgres {
            format!("replace({column}::text, '-', '')")
        } else {
            format!("lower(hex({column}))")
        }
    }

    /// Findings of `integrity_check` and `foreign_key_check` of SQLite. The PostgreSQL server is not killed.
    pub fn damage(&self) -> Result<Vec<String>> {
        let mut damage = Vec::new();
        for service in ALL.into_iter().filter(|_| !self.is_postgres) {
            for pragma in ["PRAGMA integrity_check", "PRAGMA foreign_key_check"] {
                let findings = self.query(service, pragma)?.into_iter().filter(|finding| finding != "ok");
                damage.extend(findings.map(|finding| format!("{}: {finding}", SERVICES[service])));
            }
        }
        Ok(damage)
    }
}
