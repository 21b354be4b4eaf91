//! Starts the three services over a data folder, for `up`, `demo` and `test`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testkit::processes::checkout::{PROGRAMS, SERVICES};
use testkit::processes::environment::{Environment, variables};
use testkit::processes::folder_lock::FolderLock;
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::interrupt::Interrupt;
use testkit::processes::ports;
use testkit::processes::programs::{self, Profile};
use testkit::processes::stack::{Stack, StackConfig};
use testkit::processes::tokens::DevKeys;

use crate::cli::BackendArgs;

const READYZ_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// The programs of the services.
#[derive(Debug, Clone, Copy)]
pub enum Programs<'a> {
    /// They are built first.
    Build(Profile),
    /// They are in this folder.
    Existing(&'a Path),
}

impl Programs<'_> {
    /// The programs that `up` and `demo` build: optimized ones if `--release` is given.
    pub fn build(release: bool) -> Self {
        Self::Build(if release { Profile::Release } else { Profile::Debug })
    }
}

/// A running stack and the keys that its tokens are signed with.
#[derive(Debug)]
pub struct Running {
    /// The services.
    pub stack: Stack,
    /// The development keys.
    pub keys: DevKeys,
}

/// The configuration of a stack with these backends. `environment` holds further variables for all services.
pub fn config(
    backends: &BackendArgs,
    data: &Path,
    first_port: u16,
    environment: &Environment,
) -> StackConfig {
    let mut config = StackConfig::new(Path::new(""), data);
    config.first_port = Some(first_port);
    config.log_format = "pretty";
    config.databases = [const { None }; 3].map(|_: Option<String>| backends.database.clone());
    let cache = backends.redis.iter().map(|url| ("SERVICE__CACHE_URL", url.clone()));
    let store = backends.store.iter().map(|url| ("SERVICE__STORE_URL", url.clone()));
    config.environment[0] = variables(cache.chain(store));
    for own in &mut config.environment {
        own.extend(environment.iter().cloned());
    }
    config
}

/// Locks the data folder, checks the ports, builds the programs unless they exist, makes the keys,
/// starts the services and waits until they are ready.
pub fn launch(
    mut config: StackConfig,
    backends: &BackendArgs,
    programs: Programs<'_>,
    interrupt: &Interrupt,
) -> Result<Running> {
    let (first, count) = (config.first_port.unwrap_or_default(), config.count()?);
    let names = &PROGRAMS[..if config.console { PROGRAMS.len() } else { SERVICES.len() }];
    // The lock comes first: a second `up` on the folder reports the lock, not the port.
    let lock = FolderLock::acquire(&config.data)?;
    ports::check_free(first, count)?;
    let keys = DevKeys::load_or_create(&config.data)?;
    config.programs = match programs {
        Programs::Build(profile) => programs::build(names, profile, interrupt)?,
        Programs::Existing(folder) => folder.to_owned(),
    };
    ports::check_free(first, count)?; // the build may have taken minutes
    println!("starting {} on ports {first} to {}", names.join(", "), first + count - 1);
    let mut stack = Stack::spawn(config.services()?, Some(lock))?;
    stack.wait_ready(|| interrupt.check())?;
    let url = stack.services[0].url("/readyz");
    let readiness = HttpClient::new(READYZ_TIMEOUT).send("GET", &url, None, &Body::Empty)?.json;
    check_backends(backends, &readiness)?;
    Ok(Running { stack, keys })
}

impl Running {
    /// Stops the services. The first failure counts.
    pub fn stop(mut self, result: Result<()>, interrupt: &Interrupt) -> Result<()> {
        eprintln!("\nstopping the services");
        let stopped = self.stack.stop(interrupt);
        result.and(stopped)
    }
}

/// Fails with advice if system does not reach a backend that was named on the command line.
fn check_backends(backends: &BackendArgs, readiness: &Value) -> Result<()> {
    for (url, member, option, advice) in [
        (&backends.redis, "cache", "--redis", "check that Redis runs there and that the password is right"),
        (
            &backends.store,
            "store",
            "--store",
            "check that the bucket exists and that AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY (or the variables of another provider) are right",
        ),
    ] {
        if url.is_some() && readiness[member] != "ok" {
            bail!("system does not reach the URL of {option}: {advice}. Its log has the cause");
        }
    }
    Ok(())
}

/// Makes the data folder if it is missing, checks that it is writable and returns its absolute path.
pub fn data_folder(path: &Path) -> Result<PathBuf> {
    let data = std::path::absolute(path).context("--data is empty: name a folder")?;
    let shown = data.display().to_string();
    if shown.contains(['?', '#', '%']) {
        bail!(
            "folder {shown} has one of ? # % in its name, which a URL cannot hold: choose another with --data"
        );
    }
    fs::create_dir_all(&data).and_then(|()| tempfile::tempfile_in(&data).map(drop)).with_context(|| {
        format!("cannot write to folder {shown}: make it writable or choose another with --data")
    })?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let message = format!("{:#}", data_folder(&file.join("data")).unwrap_err());
        assert!(message.contains("file/data") && message.contains("--data"), "{message}");
    }

    #[test]
    fn a_folder_in_use_is_refused_first() {
        let folder = tempfile::tempdir().unwrap();
        let _held = FolderLock::acquire(folder.path()).unwrap();
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let backends = BackendArgs::default();
        let config = config(&backends, folder.path(), taken.local_addr().unwrap().port(), &Vec::new());
        let message =
            launch(config, &backends, Programs::build(false), &Interrupt::default()).unwrap_err().to_string();
        assert!(message.contains("is in use by process"), "{message}");
    }

    #[test]
    fn an_unreachable_backend_is_named_with_advice() {
        let backends = BackendArgs { store: Some("s3://b".to_owned()), ..BackendArgs::default() };
        let check = |readiness| check_backends(&backends, &readiness).map_err(|error| error.to_string());
        assert_eq!(check(json!({"store": "ok", "cache": "degraded"})), Ok(()));
        let message = check(json!({"store": "degraded"})).unwrap_err();
        assert!(message.contains("--store") && message.contains("AWS_ENDPOINT_URL"), "{message}");
    }
}
