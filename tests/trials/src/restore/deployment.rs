//! The three services as in production, and the servers and folders of their data: created, destroyed, and restored by
//! the commands of docs/operations as they stand there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::environment::variables;
use testkit::processes::http::{Body, Response};
use testkit::processes::servers::{Cluster, S3};
use testkit::processes::service::ServiceProcess;
use testkit::processes::tools;
use testkit::processes::trial::Trial;

use crate::markdown;
use crate::receiver::{Receiver, WEBHOOK_SECRET};

/// Indexes of the services in [`Deployment::services`].
pub const SYSTEM: usize = 0;
pub const LOGISTICS: usize = 1;
pub const LIVESTOCK: usize = 2;

/// A cluster in use has assigned more transaction ids than a new one.
const USE_TRANSACTION_IDS: &str =
    "DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$";
/// The schema of the extension before deploy/postgres/init.sh created one for it. A restore must keep it.
const MOVE_EXTENSION: &str = "ALTER EXTENSION pg_trgm SET SCHEMA logistics";
const DATABASE: &str = "drover";
const PASSWORD: &str = "own";

/// A PostgreSQL server with one database for all services.
#[derive(Debug)]
pub struct Postgres(Cluster);

impl Postgres {
    /// Starts a new cluster and prepares it with the documented block.
    fn start(trial: &Trial<'_>) -> Result<Self> {
        let server = Self(Cluster::start(&trial.servers.programs().postgres, trial.stop)?);
        trial.databases.execute(&server.0.url(), "", &format!("CREATE DATABASE {DATABASE}"))?;
        let secrets = trial.path("secrets");
        fs::create_dir_all(&secrets)?;
        for service in SERVICES {
            fs::write(secrets.join(format!("{service}-database-url")), server.url(service))?;
        }
        let own = [("POSTGRES_DB", DATABASE.to_owned()), ("SECRETS", secrets.display().to_string())];
        let variables = [&server.0.variables()[..], &own].concat();
        run_page_block("prepare-postgres", &[&trial.databases.programs], &variables)?;
        Ok(server)
    }

    /// Starts a cluster that looks as if it was prepared by an older release and in use since.
    fn start_old(trial: &Trial<'_>) -> Result<Self> {
        let server = Self::start(trial)?;
        let statements = format!("{MOVE_EXTENSION}; {USE_TRANSACTION_IDS}");
        trial.databases.execute(&server.admin_url(), "", &statements)?;
        Ok(server)
    }

    /// Database URL of a service, with its own role.
    fn url(&self, service: &str) -> String {
        self.0.url_of(service, PASSWORD, DATABASE)
    }

    /// Database URL of a superuser.
    pub fn admin_url(&self) -> String {
        self.0.url_to(DATABASE)
    }
}

/// The running services and their data.
#[derive(Debug)]
pub struct Deployment<'a> {
    pub trial: &'a Trial<'a>,
    pub services: Vec<ServiceProcess>,
    pub receiver: Receiver,
    pub postgres: Option<Postgres>,
    folder: &'static str,
}

impl<'a> Deployment<'a> {
    /// Starts the services on empty databases.
    pub fn start(trial: &'a Trial<'a>, is_postgres: bool) -> Result<Self> {
        let folder = if is_postgres { "restore-postgres" } else { "restore-sqlite" };
        let postgres = is_postgres.then(|| Postgres::start_old(trial)).transpose()?;
        let receiver = Receiver::start()?;
        let mut deployment = Self { trial, services: Vec::new(), receiver, postgres, folder };
        deployment.start_services()?;
        deployment.write_config()?;
        Ok(deployment)
    }

    /// Starts the services on the present data. Their public URLs do not depend on their ports.
    pub fn start_services(&mut self) -> Result<()> {
        let mut config = self.trial.stack_config(self.folder, false)?;
        for (index, name) in SERVICES.into_iter().enumerate() {
            config.databases[index] = self.postgres.as_ref().map(|server| server.url(name));
            config.environment[index] =
                variables([("SERVER__PUBLIC_URL", format!("https://drover.example/{name}"))]);
        }
        if self.postgres.is_some() {
            config.environment[SYSTEM].extend(self.trial.servers.s3_variables());
            config.environment[SYSTEM].extend(variables([("SERVICE__STORE_URL", S3::place("restore"))]));
        }
        config.environment[LOGISTICS].extend(variables([
            ("SERVICE__WEBHOOK_URL", self.receiver.url().as_str()),
            ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true"),
            ("SERVICE__WEBHOOK_SECRETS", WEBHOOK_SECRET),
            ("SERVICE__WEBHOOK_RETRY_SECONDS", "2"),
        ]));
        self.services = self.trial.stack(&config)?.services;
        Ok(())
    }

    /// Writes the configuration files that the documented blocks read.
    fn write_config(&self) -> Result<()> {
        let config = self.path("config");
        fs::create_dir_all(&config)?;
        for service in &self.services {
            let text = format!("[database]\nurl = \"sqlite://{}\"\n", service.config().sqlite().display());
            fs::write(config.join(format!("{}.toml", service.name)), text)?;
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.trial.path(self.folder).join(name)
    }

    /// Runs the documented block `backup` or `restore` for this database.
    pub fn run_block(&self, name: &str) -> Result<()> {
        let path = |name: &str| self.path(name).display().to_string();
        let mut variables = vec![
            ("CONFIG", path("config")),
            ("BACKUP", path("backup")),
            ("FILES", path("files")),
            ("DATA", path("")),
        ];
        variables.extend(self.postgres.as_ref().map(|server| ("POSTGRES", server.admin_url())));
        let database = if self.postgres.is_some() { "postgres" } else { "sqlite" };
        let programs = [self.trial.binaries, &self.trial.databases.programs];
        run_page_block(&format!("{name}-{database}"), &programs, &variables)
    }

    /// Kills the services and destroys their data: the PostgreSQL server, or the SQLite files and the folder of
    /// contents. The `-wal` files of SQLite and the bucket are left.
    pub fn destroy(&mut self) -> Result<()> {
        self.services.iter_mut().try_for_each(ServiceProcess::kill)?;
        if let Some(server) = &mut self.postgres {
            server.0.end(Signal::KILL)?;
            self.postgres = Some(Postgres::start(self.trial)?);
            return Ok(());
        }
        for service in &self.services {
            fs::write(service.config().sqlite(), "not a database")?;
        }
        fs::remove_dir_all(self.path("files")).context("there is no folder of contents")
    }

    /// Sends a request of an organisation, or of an administrator. A status of 300 or more is an error.
    pub fn send(
        &self,
        service: usize,
        method: &str,
        path: &str,
        org: Option<&str>,
        body: &Body,
    ) -> Result<Response> {
        self.services[service].send(method, path, &self.token(org), body)
    }

    /// Sends a GET request.
    pub fn get(&self, service: usize, path: &str, org: Option<&str>) -> Result<Response> {
        self.send(service, "GET", path, org, &Body::Empty)
    }

    /// A token of an organisation, or of an administrator.
    pub fn token(&self, org: Option<&str>) -> String {
        self.services[SYSTEM].token(org)
    }
}

/// The blocks that the drill runs (` ```sh NAME `).
pub const BLOCKS: [&str; 5] =
    ["prepare-postgres", "backup-sqlite", "backup-postgres", "restore-sqlite", "restore-postgres"];

/// Runs the block of this name with these variables. Its programs are found in these folders first.
fn run_page_block(name: &str, programs: &[&Path], variables: &[(&str, String)]) -> Result<()> {
    ensure!(BLOCKS.contains(&name), "{name} is not a block of the drill");
    let pages = markdown::read(&markdown::files()?)?;
    let block = pages.iter().find_map(|page| page.block("sh", name).ok());
    let block = block.with_context(|| format!("no page has the block `{name}`"))?;
    let mut shell = Command::new("sh");
    shell.current_dir(checkout::root());
    shell.args(["-c", block]).env("PATH", tools::path_with(programs)?);
    let output =
        shell.envs(variables.iter().map(|(name, value)| (name, value))).output().context("cannot run sh")?;
    if !output.status.success() {
        bail!("the block `{name}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
