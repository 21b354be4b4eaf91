//! The three services together, each with one replica or more.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::process::Signal;

use crate::processes::checkout::{CONSOLE, SERVICES};
use crate::processes::environment::{Environment, variables};
use crate::processes::folder_lock::FolderLock;
use crate::processes::interrupt::Interrupt;
use crate::processes::ports;
use crate::processes::service::{ServiceConfig, ServiceProcess};

/// Longer than the services take to finish the requests in flight, in seconds.
const STOP_TIMEOUT: Duration = Duration::from_secs(35);

/// How the services of a stack run.
#[derive(Debug, Clone)]
pub struct StackConfig {
    /// Folder of the three programs.
    pub programs: PathBuf,
    /// Absolute path of the data folder. Several replicas of a service have a folder each in it.
    pub data: PathBuf,
    /// Folder of the development keys.
    pub keys: PathBuf,
    /// Port of the first service, whose neighbours follow; none for free ports.
    pub first_port: Option<u16>,
    /// Replicas of each of [`SERVICES`].
    pub replicas: [usize; 3],
    /// Database URL of each of [`SERVICES`], or none for a SQLite file.
    pub databases: [Option<String>; 3],
    /// Whether the console runs too, after the services, in which whoever opens it chooses who to be.
    pub console: bool,
    /// Log format: `json` or `pretty`.
    pub log_format: &'static str,
    /// Further variables of each of [`SERVICES`].
    pub environment: [Environment; 3],
}

impl StackConfig {
    /// One replica of each service over SQLite, on free ports, with JSON logs and the keys of the data folder.
    pub fn new(programs: &Path, data: &Path) -> Self {
        Self {
            programs: programs.to_owned(),
            data: data.to_owned(),
            keys: data.to_owned(),
            first_port: None,
            replicas: [1; 3],
            databases: [const { None }; 3],
            console: false,
            log_format: "json",
            environment: [const { Vec::new() }; 3],
        }
    }

    /// The configuration of each replica, in the order of [`SERVICES`], and of the console.
    pub fn services(&self) -> Result<Vec<ServiceConfig>> {
        let ports: Vec<u16> = match self.first_port {
            Some(first) => (first..first + self.count()?).collect(),
            None => ports::find_many(self.count()?)?,
        };
        let console = ports.last().filter(|_| self.console).map(|port| format!("http://127.0.0.1:{port}/"));
        let mut ports = ports.into_iter();
        let mut configs: Vec<ServiceConfig> = Vec::new();
        for (index, name) in SERVICES.into_iter().enumerate() {
            for number in 0..self.replicas[index] {
                let own = || self.data.join(format!("{name}-{number}"));
                let data = if self.replicas[index] == 1 { self.data.clone() } else { own() };
                let system = configs.first().filter(|_| index > 0).map(ServiceConfig::url);
                let mut environment = variables(system.map(|url| ("SERVICE__SYSTEM_URL", url)));
                if name == "livestock" {
                    environment.extend(variables([("SERVICE__PUBLIC_LISTINGS", "true")]));
                }
                environment.extend(variables(console.iter().map(|url| ("SERVER__CONSOLE_URL", url))));
                environment.extend(self.environment[index].iter().cloned());
                configs.push(ServiceConfig {
                    name,
                    program: self.programs.join(name),
                    data,
                    keys: self.keys.clone(),
                    port: ports.next().unwrap_or_default(),
                    database: self.databases[index].clone(),
                    log_format: self.log_format,
                    environment,
                });
            }
        }
        if self.console {
            let url = |name: &str| configs.iter().find(|config| config.name == name).map(ServiceConfig::url);
            let addresses = SERVICES.into_iter().filter_map(|name| {
                Some((format!("DROVER_SERVICE__{}_URL", name.to_uppercase()), url(name)?))
            });
            configs.push(ServiceConfig {
                name: CONSOLE,
                program: self.programs.join(CONSOLE),
                data: self.data.clone(),
                keys: self.keys.clone(),
                port: ports.next().unwrap_or_default(),
                database: None,
                log_format: self.log_format,
                environment: addresses.collect(),
            });
        }
        Ok(configs)
    }

    /// Number of all replicas, with the console.
    pub fn count(&self) -> Result<u16> {
        Ok(u16::try_from(self.replicas.iter().sum::<usize>() + usize::from(self.console))?)
    }
}

/// The running services. They stop when it is dropped.
#[derive(Debug)]
pub struct Stack {
    /// The replicas in the order of [`SERVICES`], those of one service side by side.
    pub services: Vec<ServiceProcess>,
    lock: Option<FolderLock>,
}

impl Stack {
    /// Starts these replicas at once and does not wait for them. They hold the lock for as long as they run.
    pub fn spawn(configs: Vec<ServiceConfig>, lock: Option<FolderLock>) -> Result<Self> {
        let mut stack = Self { services: Vec::new(), lock };
        for config in configs {
            let stdin = stack.lock.as_ref().map_or_else(|| Ok(Stdio::null()), FolderLock::inherited)?;
            stack.services.push(ServiceProcess::spawn(config, stdin)?);
        }
        Ok(stack)
    }

    /// Starts all replicas at once on free ports and waits until they are ready. `check` ends the waiting by an error.
    pub fn start(config: &StackConfig, check: impl Fn() -> Result<()>) -> Result<Self> {
        let start = || {
            let mut stack = Self::spawn(config.services()?, None)?;
            stack.wait_ready(&check)?;
            Ok(stack)
        };
        // Another program may take a port between finding and using it.
        let is_taken = |error: &anyhow::Error| error.to_string().contains("cannot listen on");
        let first = start();
        if first.as_ref().is_err_and(is_taken) { start() } else { first }
    }

    /// Waits until all replicas are ready. `check` ends the waiting by an error.
    pub fn wait_ready(&mut self, check: impl Fn() -> Result<()>) -> Result<()> {
        let begun = Instant::now();
        self.services.iter_mut().try_for_each(|service| service.wait_ready(begun, &check))
    }

    /// Fails with the end of its log if a replica has ended.
    pub fn check_running(&mut self) -> Result<()> {
        self.services.iter_mut().try_for_each(ServiceProcess::check_running)
    }

    /// The replicas of a service.
    pub fn replicas(&self, name: &str) -> impl Iterator<Item = &ServiceProcess> {
        self.services.iter().filter(move |service| service.name == name)
    }

    /// The positions of the replicas of a service.
    pub fn range(&self, name: &str) -> Range<usize> {
        let first = self.services.iter().position(|service| service.name == name).unwrap_or_default();
        first..first + self.replicas(name).count()
    }

    /// Stops all replicas: they finish the requests in flight. A signal to this program ends the waiting.
    ///
    /// # Errors
    /// Names the replicas that did not stop cleanly.
    pub fn stop(&mut self, interrupt: &Interrupt) -> Result<()> {
        let signals = interrupt.count();
        for service in self.services.iter().filter(|service| service.is_running()) {
            service.signal(Signal::TERM);
        }
        let deadline = Instant::now() + STOP_TIMEOUT;
        let mut failures = Vec::new();
        for mut service in self.services.drain(..) {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Err(error) = service.wait_ended_unless(left, || interrupt.count() > signals) {
                failures.push(error.to_string());
            }
        }
        if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("\n")) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn services_know_their_ports_and_where_system_is() {
        let config = StackConfig { first_port: Some(8081), ..StackConfig::new("/p".as_ref(), "/d".as_ref()) };
        let configs = config.services().unwrap();
        let has = |index: usize, name: &str, value: &str| {
            let pair = (name.to_owned(), value.to_owned());
            assert!(configs[index].environment().contains(&pair), "{name}={value}");
        };
        has(0, "DROVER_SERVICE__STORE_URL", "file:///d/files");
        has(1, "DROVER_SERVER__PORT", "8082");
        has(1, "DROVER_DATABASE__URL", "sqlite:///d/logistics.sqlite");
        has(2, "DROVER_SERVICE__SYSTEM_URL", "http://127.0.0.1:8081");
        has(2, "DROVER_SERVER__PUBLIC_URL", "http://127.0.0.1:8083");
    }

    #[test]
    fn replicas_have_a_folder_each_and_follow_each_other() {
        let config = StackConfig { replicas: [1, 3, 2], ..StackConfig::new("/p".as_ref(), "/d".as_ref()) };
        let configs = config.services().unwrap();
        let folders: Vec<_> = configs.iter().map(|config| config.data.display().to_string()).collect();
        let expected =
            ["/d", "/d/logistics-0", "/d/logistics-1", "/d/logistics-2", "/d/livestock-0", "/d/livestock-1"];
        assert_eq!(folders, expected);
    }

    #[test]
    fn a_second_start_appends_to_the_logs() {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("bin");
        fs::create_dir(&programs).unwrap();
        for service in SERVICES {
            let program = programs.join(service);
            fs::write(&program, "#!/bin/sh\necho started\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let config = StackConfig::new(&programs, folder.path());
        for _ in 0..2 {
            let mut stack = Stack::spawn(config.services().unwrap(), None).unwrap();
            for service in &mut stack.services {
                service.wait_ended(Duration::from_secs(10)).unwrap();
            }
        }
        for config in config.services().unwrap() {
            assert_eq!(fs::read_to_string(config.log()).unwrap(), "started\nstarted\n");
        }
    }
}
