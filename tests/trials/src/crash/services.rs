//! The three services with one data folder: killed, started again, and inspected through their databases. A
//! PostgreSQL server of their own is killed with them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use testkit::processes::checkout::SERVICES;
use testkit::processes::environment::variables;
use testkit::processes::servers::Cluster;
use testkit::processes::service::ServiceProcess;
use testkit::processes::stack::StackConfig;
use testkit::processes::trial::Trial;

use super::client::{Endpoints, LIVESTOCK, LOGISTICS, SYSTEM};
use super::fixture::{OWNER, PARTNER};

/// All services.
pub const ALL: [usize; 3] = [SYSTEM, LOGISTICS, LIVESTOCK];
/// Minimum age in seconds of contents without a record that system removes. Short, so the sweep runs in some rounds.
const SWEEP_GRACE: &str = "10";
/// Limit until a service has stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(35);
/// Folder of the contents below the data folder. System makes both folders, and no database is in the upper one: SQLite
/// would sync the names in it.
pub const CONTENTS: &str = "contents/files";

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
    server: Option<Cluster>,
}

impl<'a> Services<'a> {
    /// Starts the services on empty databases.
    pub fn start(trial: &'a Trial<'a>, mut config: StackConfig) -> Result<Self> {
        let is_postgres = config.databases[SYSTEM].is_some();
        let contents = format!("file://{}/{CONTENTS}", config.data.display());
        let settings = [("SERVICE__SWEEP_GRACE_SECONDS", SWEEP_GRACE), ("SERVICE__STORE_URL", &contents)];
        config.environment[SYSTEM] = variables(settings);
        let processes = trial.stack(&config)?.services;
        let endpoints = Endpoints {
            urls: ALL.map(|service| processes[service].url("")),
            tokens: [Some(OWNER.id), Some(PARTNER.id), None].map(|org| processes[SYSTEM].token(org)),
            clock: Arc::default(),
        };
        let slowest_restart = Duration::ZERO;
        Ok(Self { trial, endpoints, is_postgres, kills: 0, slowest_restart, processes, server: None })
    }

    /// Starts the services on a PostgreSQL server that is killed with them.
    pub fn start_with(trial: &'a Trial<'a>, mut config: StackConfig, server: Cluster) -> Result<Self> {
        config.databases = ALL.map(|_| Some(server.url()));
        Ok(Self { server: Some(server), ..Self::start(trial, config)? })
    }

    /// Kills services.
    pub fn kill(&mut self, services: &[usize]) -> Result<()> {
        self.kills += services.len();
        services.iter().try_for_each(|service| self.processes[*service].kill())
    }

    /// Stops all services: they finish the requests in flight and close their databases.
    pub fn stop(&mut self) -> Result<()> {
        self.processes.iter().for_each(|process| process.signal(Signal::TERM));
        self.processes.iter_mut().try_for_each(|process| process.wait_ended(STOP_TIMEOUT))
    }

    /// Kills all services, and first their server, so that it is in the middle of their work.
    pub fn kill_all(&mut self) -> Result<()> {
        self.server.as_mut().map_or(Ok(()), Cluster::kill_all)?;
        self.kill(&ALL)
    }

    /// Starts everything after [`kill_all`](Self::kill_all), and waits until all services are ready.
    pub fn restart_all(&mut self) -> Result<()> {
        if let Some(server) = &mut self.server {
            server.start_again(&[], self.trial.stop)?;
        }
        self.restart(&ALL)?;
        self.wait_ready(&ALL)
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
        self.processes[SYSTEM].data().join(CONTENTS)
    }

    /// Folder of the uploads in progress.
    pub fn staging(&self) -> PathBuf {
        self.contents().join(".staging")
    }

    /// Runs an SQL query in the database of a service and returns the first column.
    pub fn query(&self, service: usize, sql: &str) -> Result<Vec<String>> {
        let process = &self.processes[service];
        let output = if let Some(url) = &process.config().database {
            self.trial.databases.execute(url, process.name, sql)?
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

    /// Findings of `integrity_check` and `foreign_key_check` of SQLite. PostgreSQL has no such checks.
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
