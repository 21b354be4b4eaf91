//! The three services as child processes: started with their configuration, watched, stopped.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde_json::Value;

use crate::client::{Body, Client};
use crate::data_lock::DataLock;
use crate::keys::JWKS_FILE;
use crate::stop::Stop;
use crate::workspace::SERVICES;
use crate::{process, servers, token};

const READY_LIMIT: Duration = Duration::from_secs(30);
/// A little more than a service gives its own requests to end.
const STOP_LIMIT: Duration = Duration::from_secs(35);

/// What a service is told: variables and their values.
pub type Environment = Vec<(String, String)>;

/// Where the services run and what they keep their data in.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// Data folder, absolute.
    pub data: PathBuf,
    /// Port of the first service.
    pub port: u16,
    /// One database for all, or a SQLite file each.
    pub database: Option<String>,
    /// The cache of system, or one in its process.
    pub cache: Option<String>,
    /// Where system keeps files, or a folder.
    pub store: Option<String>,
    /// What else they are told: variables and their values.
    pub more: Environment,
}

impl Place {
    /// Base address of the service with this number.
    pub fn url(&self, index: u16) -> String {
        format!("http://127.0.0.1:{}", self.port + index)
    }

    /// Log file of a service.
    pub fn log(&self, service: &str) -> PathBuf {
        self.data.join("log").join(format!("{service}.log"))
    }

    /// The whole configuration of a service, by environment only.
    pub fn environment(&self, service: &str, index: u16) -> Environment {
        let data = self.data.display();
        let sqlite = || format!("sqlite://{data}/{service}.sqlite");
        let mut variables = vec![
            ("DROVER_SERVER__HOST", "127.0.0.1".to_owned()),
            ("DROVER_SERVER__PORT", (self.port + index).to_string()),
            ("DROVER_SERVER__PUBLIC_URL", self.url(index)),
            ("DROVER_DATABASE__URL", self.database.clone().unwrap_or_else(sqlite)),
            ("DROVER_AUTH__JWKS_FILE", format!("{data}/{JWKS_FILE}")),
            ("DROVER_AUTH__ISSUER", token::ISSUER.to_owned()),
            ("DROVER_AUTH__AUDIENCE", token::AUDIENCE.to_owned()),
            ("DROVER_LOG__FORMAT", "pretty".to_owned()),
            ("NO_COLOR", "1".to_owned()), // the log is a file
        ];
        if service == "system" {
            let folder = || format!("file://{data}/files");
            variables.push(("DROVER_SERVICE__STORE_URL", self.store.clone().unwrap_or_else(folder)));
            variables.extend(self.cache.clone().map(|cache| ("DROVER_SERVICE__CACHE_URL", cache)));
        } else {
            variables.push(("DROVER_SERVICE__SYSTEM_URL", self.url(0)));
        }
        let more = self.more.iter().cloned();
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(more).collect()
    }

    /// Fails with what to do if system does without what it was told to use.
    fn check_reached(&self, readiness: &Value) -> Result<()> {
        for (url, member, option, hint) in [
            (&self.cache, "cache", "--redis", "is Redis running there, and is the password right?"),
            (
                &self.store,
                "store",
                "--store",
                "does the bucket exist, and do AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY (or the variables of another provider) lead to it?",
            ),
        ] {
            if url.is_some() && readiness[member] != "ok" {
                bail!(
                    "system does not reach what {option} names: {hint} Its log is {}",
                    self.log("system").display()
                );
            }
        }
        Ok(())
    }
}

/// The running services. Dropped, it stops them.
#[derive(Debug)]
pub struct Fleet {
    place: Place,
    lock: DataLock,
    running: Vec<(&'static str, Child)>,
}

impl Fleet {
    /// Starts the binaries of a folder over the data folder that is locked. Their logs are appended to.
    pub fn start(place: &Place, binaries: &Path, lock: DataLock) -> Result<Self> {
        let mut fleet = Self { place: place.clone(), lock, running: Vec::new() };
        fs::create_dir_all(place.data.join("log"))
            .context("cannot make the log folder: choose another with --data")?;
        for (index, service) in (0..).zip(SERVICES) {
            let path = place.log(service);
            let log = File::options().create(true).append(true).open(&path);
            let log = log.with_context(|| format!("cannot write {}", path.display()))?;
            let mut command = Command::new(binaries.join(service));
            for name in servers::ENVIRONMENT {
                command.env_remove(name);
            }
            let child = command
                .arg("serve")
                .envs(place.environment(service, index))
                .stdin(fleet.lock.inherited()?)
                .stderr(log.try_clone().with_context(|| format!("cannot write {}", path.display()))?)
                .stdout(log)
                .process_group(0) // Ctrl-C is ours to pass on
                .spawn()
                .with_context(|| {
                    format!("cannot start {}: build it again", binaries.join(service).display())
                })?;
            fleet.running.push((service, child));
        }
        Ok(fleet)
    }

    /// Waits until every service answers that it is ready.
    pub fn wait_ready(&mut self, stop: &Stop) -> Result<()> {
        let client = Client::new(Duration::from_secs(2));
        let deadline = Instant::now() + READY_LIMIT;
        for (index, service) in (0..).zip(SERVICES) {
            let url = format!("{}/readyz", self.place.url(index));
            loop {
                stop.check()?;
                self.check()?;
                let answer = client.send("GET", &url, None, &Body::Empty);
                if let Some(ready) = answer.as_ref().ok().filter(|answer| answer.status == 200) {
                    if service == "system" {
                        self.place.check_reached(&ready.json)?;
                    }
                    break;
                }
                if Instant::now() > deadline {
                    let said =
                        answer.map_or_else(|error| format!("{error:#}"), |answer| answer.status.to_string());
                    bail!(
                        "{service} was not ready after {} s ({url}: {said}); {}",
                        READY_LIMIT.as_secs(),
                        self.log_end(service)
                    );
                }
                sleep(Duration::from_millis(100));
            }
        }
        Ok(())
    }

    /// Fails with the last log lines if a service has ended by itself.
    pub fn check(&mut self) -> Result<()> {
        let mut ended = None;
        for (service, child) in &mut self.running {
            if let Some(status) = child.try_wait().with_context(|| format!("cannot wait for {service}"))? {
                ended = Some((*service, status));
                break;
            }
        }
        match ended {
            None => Ok(()),
            Some((service, status)) => {
                bail!("{service} ended by itself ({status}); {}", self.log_end(service))
            }
        }
    }

    /// Stops all of them; a second Ctrl-C ends the waiting. Fails naming those that did not stop cleanly.
    pub fn stop(&mut self, stop: &Stop) -> Result<()> {
        let signals = stop.count();
        let mut problems = Vec::new();
        for (_, child) in &mut self.running {
            if matches!(child.try_wait(), Ok(None)) {
                process::signal(child, Signal::TERM);
            }
        }
        let deadline = Instant::now() + STOP_LIMIT;
        for (service, mut child) in self.running.drain(..) {
            let left = deadline.saturating_duration_since(Instant::now());
            match process::wait(&mut child, left, || stop.count() > signals) {
                Some(status) if status.success() => {}
                Some(status) => problems.push(format!("{service} stopped with {status}")),
                None => {
                    process::signal(&child, Signal::KILL);
                    let _ = child.wait();
                    problems.push(format!("{service} did not stop and was killed"));
                }
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        bail!("{}: read its log in {}", problems.join(", "), self.place.data.join("log").display())
    }

    fn log_end(&self, service: &str) -> String {
        let path = self.place.log(service);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(15)..].join("\n  ");
        format!("mend what its log says ({}):\n  {last}", path.display())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = self.stop(&Stop::default());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    #[test]
    fn each_service_is_told_where_it_is_and_where_the_others_are() {
        let place = Place { data: "/d".into(), port: 8081, ..Place::default() };
        let has = |service, index, name: &str, value: &str| {
            let told = (name.to_owned(), value.to_owned());
            assert!(place.environment(service, index).contains(&told), "{name}={value}");
        };
        has("system", 0, "DROVER_SERVICE__STORE_URL", "file:///d/files");
        has("logistics", 1, "DROVER_SERVER__PORT", "8082");
        has("logistics", 1, "DROVER_DATABASE__URL", "sqlite:///d/logistics.sqlite");
        has("livestock", 2, "DROVER_SERVICE__SYSTEM_URL", "http://127.0.0.1:8081");
        has("livestock", 2, "DROVER_SERVER__PUBLIC_URL", "http://127.0.0.1:8083");
    }

    #[test]
    fn a_second_start_appends_to_the_logs() {
        let folder = tempfile::tempdir().unwrap();
        let binaries = folder.path().join("bin");
        fs::create_dir(&binaries).unwrap();
        for service in SERVICES {
            let program = binaries.join(service);
            fs::write(&program, "#!/bin/sh\necho started\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let place = Place { data: folder.path().into(), port: 8081, ..Place::default() };
        for number in ["first", "second"] {
            // Another folder's lock: a process that another test is just starting may hold a copy of the first one.
            let other = folder.path().join(number);
            fs::create_dir(&other).unwrap();
            let lock = DataLock::acquire(&other).unwrap();
            let mut fleet = Fleet::start(&place, &binaries, lock).unwrap();
            for (_, child) in &mut fleet.running {
                child.wait().unwrap();
            }
        }
        for service in SERVICES {
            assert_eq!(fs::read_to_string(place.log(service)).unwrap(), "started\nstarted\n");
        }
    }

    #[test]
    fn what_system_does_not_reach_is_named_with_what_to_do() {
        let store = Some("s3://b".to_owned());
        let place = Place { store, ..Place::default() };
        let told = |readiness| place.check_reached(&readiness).map_err(|error| error.to_string());
        assert_eq!(told(json!({"store": "ok", "cache": "degraded"})), Ok(()));
        let message = told(json!({"store": "degraded"})).unwrap_err();
        assert!(message.contains("--store") && message.contains("AWS_ENDPOINT_URL"), "{message}");
    }
}
