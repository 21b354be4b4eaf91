//! The three services as production has them, and what they keep their data in: made, lost, and made again.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::page;
use crate::client::{Answer, Body};
use crate::load::receiver::Receiver;
use crate::servers::{Cluster, S3};
use crate::service::{Environment, Service};
use crate::trial::Trial;
use crate::workspace::SERVICES;

/// A cluster in use has given away more numbers of transactions than a new one.
const USED: &str = "DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$";
/// Where the extension was before deploy/postgres/init.sh had a schema for it, which a restore has to keep.
const ELSEWHERE: &str = "ALTER EXTENSION pg_trgm SET SCHEMA logistics";
/// The organisation of whoever asks; none: an administrator.
pub type Who = Option<&'static str>;

const DATABASE: &str = "drover";
const PASSWORD: &str = "own";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A PostgreSQL server with one database for all.
#[derive(Debug)]
pub struct Server(Cluster);

impl Server {
    /// A new one, prepared as the page says.
    fn start(trial: &Trial<'_>) -> Result<Self> {
        let server = Self(Cluster::start(&trial.servers.programs().postgres, trial.stop)?);
        trial.databases.ask(&server.0.url(), "", &format!("CREATE DATABASE {DATABASE}"))?;
        let secrets = trial.path("secrets");
        fs::create_dir_all(&secrets)?;
        for service in SERVICES {
            fs::write(secrets.join(format!("{service}-database-url")), server.url(service))?;
        }
        let told = [("POSTGRES_DB", DATABASE.to_owned()), ("SECRETS", secrets.display().to_string())];
        let variables = [&server.0.variables()[..], &told].concat();
        page::run("prepare-postgres", &[&trial.databases.programs], &variables)?;
        Ok(server)
    }

    /// The one that is to be lost: older than what prepares a new one, and in use for long.
    fn start_old(trial: &Trial<'_>) -> Result<Self> {
        let server = Self::start(trial)?;
        trial.databases.ask(&server.all(), "", &format!("{ELSEWHERE}; {USED}"))?;
        Ok(server)
    }

    /// How a service connects, as its own role.
    fn url(&self, service: &str) -> String {
        self.0.url_of(service, PASSWORD, DATABASE)
    }

    /// How somebody connects who may do all in its database.
    pub fn all(&self) -> String {
        self.0.url_to(DATABASE)
    }
}

/// The services, by their place in [`SERVICES`], and their data.
#[derive(Debug)]
pub struct Stage<'a> {
    pub trial: &'a Trial<'a>,
    pub services: [Service; 3],
    pub receiver: Receiver,
    pub server: Option<Server>,
    folder: &'static str,
}

impl<'a> Stage<'a> {
    pub fn start(trial: &'a Trial<'a>, postgres: bool) -> Result<Self> {
        let folder = if postgres { "restore-postgres" } else { "restore-sqlite" };
        let server = postgres.then(|| Server::start_old(trial)).transpose()?;
        let receiver = Receiver::start(std::time::Duration::ZERO)?;
        let services = services(trial, folder, server.as_ref(), receiver.port())?;
        let stage = Self { trial, services, receiver, server, folder };
        stage.configure()?;
        Ok(stage)
    }

    /// Where the page's commands find how a service is configured.
    fn configure(&self) -> Result<()> {
        let config = self.path("config");
        fs::create_dir_all(&config)?;
        for service in &self.services {
            let text = format!("[database]\nurl = \"sqlite://{}\"\n", service.sqlite().display());
            fs::write(config.join(format!("{}.toml", service.name)), text)?;
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.trial.path(self.folder).join(name)
    }

    /// Runs a block of the page, `backup` or `restore`, for this database.
    pub fn run(&self, what: &str) -> Result<()> {
        let show = |name: &str| self.path(name).display().to_string();
        let mut variables =
            ["config", "backup", "files"].map(|name| (name.to_uppercase(), show(name))).to_vec();
        variables.push(("DATA".to_owned(), show("")));
        let mut database = "sqlite";
        if let Some(server) = &self.server {
            database = "postgres";
            variables.push(("POSTGRES".to_owned(), server.all()));
        }
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        page::run(
            &format!("{what}-{database}"),
            &[self.trial.binaries, &self.trial.databases.programs],
            &variables,
        )
    }

    /// Everything stops without a word, and what it was kept in is gone: the whole server, or all but what SQLite
    /// leaves beside a database that it had open. The bucket stays.
    pub fn destroy(&mut self) -> Result<()> {
        self.services.iter_mut().try_for_each(Service::kill)?;
        if let Some(server) = &mut self.server {
            server.0.end(Signal::KILL)?;
            self.server = Some(Server::start(self.trial)?);
            return Ok(());
        }
        for service in &self.services {
            fs::write(service.sqlite(), "nothing of a database")?;
        }
        fs::remove_dir_all(self.path("files")).context("there were no files")
    }

    /// Starts the services over what was restored.
    pub fn start_again(&mut self) -> Result<()> {
        self.services = services(self.trial, self.folder, self.server.as_ref(), self.receiver.port())?;
        Ok(())
    }

    /// A token of somebody of this organisation, or of an administrator.
    pub fn token(&self, who: Who) -> String {
        self.services[0].token(who)
    }

    /// Asks a service for something; anything but success is an error.
    pub fn send(
        &self,
        service: usize,
        (method, path): (&str, &str),
        who: Who,
        body: &Body,
    ) -> Result<Answer> {
        self.services[service].send(method, path, &self.token(who), body)
    }
}

fn services(
    trial: &Trial<'_>,
    folder: &'static str,
    server: Option<&Server>,
    receiver: u16,
) -> Result<[Service; 3]> {
    let webhook = format!("http://127.0.0.1:{receiver}/");
    let start = |name: &'static str, more: Environment| {
        // As clients know it, wherever it listens.
        let mut told =
            vec![("DROVER_SERVER__PUBLIC_URL".to_owned(), format!("https://drover.example/{name}"))];
        told.extend(more);
        trial.service(name, folder, server.map(|server| server.url(name)), told)
    };
    let told = |name: &str, value: &str| (format!("DROVER_SERVICE__{name}"), value.to_owned());
    let store = if server.is_some() {
        let mut store = trial.servers.s3_variables();
        store.push(told("STORE_URL", &S3::place("restore")));
        store
    } else {
        Vec::new()
    };
    let system = start(SERVICES[0], store)?;
    let to_system = told("SYSTEM_URL", &system.url(""));
    let hook = [("URL", &*webhook), ("ALLOW_PRIVATE", "true"), ("SECRETS", SECRET), ("RETRY_SECONDS", "2")];
    let mut sending: Vec<_> = hook.map(|(name, value)| told(&format!("WEBHOOK_{name}"), value)).into();
    sending.push(to_system.clone());
    Ok([system, start(SERVICES[1], sending)?, start(SERVICES[2], vec![to_system])?])
}
