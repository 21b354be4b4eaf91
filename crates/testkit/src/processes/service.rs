//! A service as a process of this machine: its configuration and its life.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use crate::processes::checkout::CONSOLE;
use crate::processes::environment::{Environment, TEST_SERVERS, variables};
use crate::processes::http::{Body, HttpClient, Response};
use crate::processes::process_stats::{self, Memory};
use crate::processes::tokens::{self, DevKeys, Identity, JWKS_FILE, PEM_FILE};
use crate::processes::{ports, process};

/// Where a service runs and what it uses.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// Name, one of [`PROGRAMS`](crate::processes::checkout::PROGRAMS).
    pub name: &'static str,
    /// Path of its program.
    pub program: PathBuf,
    /// Absolute path of the folder of its SQLite database, its files and its log.
    pub data: PathBuf,
    /// Folder of the development keys that its tokens are signed with.
    pub keys: PathBuf,
    /// Port on 127.0.0.1.
    pub port: u16,
    /// URL of its database, or none for a SQLite file in its folder.
    pub database: Option<String>,
    /// Log format: `json` or `pretty`.
    pub log_format: &'static str,
    /// Further variables. They win over those that are made of the other members.
    pub environment: Environment,
}

impl ServiceConfig {
    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Path of its log file.
    pub fn log(&self) -> PathBuf {
        self.data.join("log").join(format!("{}.log", self.name))
    }

    /// Path of its SQLite file.
    pub fn sqlite(&self) -> PathBuf {
        self.data.join(format!("{}.sqlite", self.name))
    }

    /// All its variables.
    pub fn environment(&self) -> Environment {
        let sqlite = || format!("sqlite://{}", self.sqlite().display());
        let mut all = variables([
            ("SERVER__HOST", "127.0.0.1".to_owned()),
            ("SERVER__PORT", self.port.to_string()),
            ("SERVER__PUBLIC_URL", self.url()),
            ("LOG__FORMAT", self.log_format.to_owned()),
        ]);
        if self.name == CONSOLE {
            let key = self.keys.join(PEM_FILE).display().to_string();
            all.extend(variables([("SERVICE__DEVELOPMENT_KEY_FILE", key)]));
        } else {
            all.extend(variables([
                ("DATABASE__URL", self.database.clone().unwrap_or_else(sqlite)),
                ("AUTH__JWKS_FILE", self.keys.join(JWKS_FILE).display().to_string()),
                ("AUTH__ISSUER", tokens::ISSUER.to_owned()),
                ("AUTH__AUDIENCE", tokens::AUDIENCE.to_owned()),
            ]));
        }
        all.push(("NO_COLOR".to_owned(), "1".to_owned())); // the log is a file
        if self.name == "system" {
            all.extend(variables([("SERVICE__STORE_URL", format!("file://{}/files", self.data.display()))]));
        }
        all.extend(self.environment.iter().cloned());
        all
    }

    /// A command of its program, without arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for name in TEST_SERVERS {
            command.env_remove(name);
        }
        command.envs(self.environment()).stdin(Stdio::null());
        command
    }
}

/// Time from the start of a process until it is ready. Seven debug builds may start at once on a busy machine.
pub const READY_TIMEOUT: Duration = Duration::from_secs(60);
const TOKEN_TTL: Duration = Duration::from_secs(24 * 3600);
/// Lines of the log that an error message shows.
const LOG_LINES: usize = 15;

/// A running service. It stops when it is dropped.
#[derive(Debug)]
pub struct ServiceProcess {
    child: Child,
    config: ServiceConfig,
    client: HttpClient,
    keys: DevKeys,
    /// Name of the service.
    pub name: &'static str,
    /// Time from the start of the process to its first response. Zero before that.
    pub start_up: Duration,
}

impl ServiceProcess {
    /// Starts a service on a free port and waits for its first response.
    pub fn start(config: &ServiceConfig) -> Result<Self> {
        let start = || {
            let [port] = ports::find_free()?;
            let mut service = Self::spawn(ServiceConfig { port, ..config.clone() }, Stdio::null())?;
            service.wait_first_response()?;
            Ok(service)
        };
        // Another program may take the port between finding and using it.
        let is_taken = |error: &anyhow::Error| error.to_string().contains("cannot listen on");
        let mut started = start();
        for _ in 1..3 {
            if !started.as_ref().is_err_and(is_taken) {
                break;
            }
            started = start();
        }
        started
    }

    /// Starts a service on the port of its configuration and does not wait for it.
    pub fn spawn(config: ServiceConfig, stdin: Stdio) -> Result<Self> {
        fs::create_dir_all(config.data.join("log"))
            .with_context(|| format!("cannot make a log folder in {}", config.data.display()))?;
        let keys = DevKeys::load_or_create(&config.keys)?;
        let child = spawn(&config, stdin)?;
        let client = HttpClient::new(Duration::from_secs(300));
        Ok(Self { child, name: config.name, config, client, keys, start_up: Duration::ZERO })
    }

    /// Waits until the service responds.
    fn wait_first_response(&mut self) -> Result<()> {
        let begun = Instant::now();
        while self.client.send("GET", &self.url("/healthz"), None, &Body::Empty).is_err() {
            if !self.is_running() || begun.elapsed() > READY_TIMEOUT {
                bail!("{} did not start: {}", self.name, self.log());
            }
            sleep(Duration::from_micros(500));
        }
        self.start_up = begun.elapsed();
        // The response came from another program with this port if the process has ended.
        self.check_running()
    }

    /// Waits until `/readyz` says 200. `check` ends the waiting by an error.
    pub fn wait_ready(&mut self, since: Instant, check: impl Fn() -> Result<()>) -> Result<()> {
        while !self.is_ready() {
            check()?;
            self.check_running()?;
            if since.elapsed() > READY_TIMEOUT {
                bail!("{} is not ready after {:.1?}; {}", self.name, since.elapsed(), self.log_end());
            }
            sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Whether `/readyz` says 200.
    pub fn is_ready(&self) -> bool {
        let response = self.client.send("GET", &self.url("/readyz"), None, &Body::Empty);
        response.is_ok_and(|response| response.status == 200)
    }

    /// Whether the process runs.
    pub fn is_running(&self) -> bool {
        fs::read_to_string(format!("/proc/{}/stat", self.pid())).is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// Fails with the end of the log if the process has ended.
    pub fn check_running(&mut self) -> Result<()> {
        match self.child.try_wait().with_context(|| format!("cannot wait for {}", self.name))? {
            None => Ok(()),
            Some(status) => bail!("{} ended unexpectedly ({status}); {}", self.name, self.log_end()),
        }
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        process::signal(&self.child, signal);
    }

    /// Kills the process (SIGKILL) and waits for its end.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().with_context(|| format!("cannot kill {}", self.name))?;
        self.child.wait().with_context(|| format!("cannot wait for {}", self.name))?;
        Ok(())
    }

    /// Waits for the end of a process that was told to stop.
    ///
    /// # Errors
    /// The process runs after `limit`, or ended with another status than 0.
    pub fn wait_ended(&mut self, limit: Duration) -> Result<()> {
        self.wait_ended_unless(limit, || false)
    }

    /// Waits for the end of a process that was told to stop, and kills it after `limit` or when `give_up` says so.
    pub fn wait_ended_unless(&mut self, limit: Duration, give_up: impl Fn() -> bool) -> Result<()> {
        match process::wait(&mut self.child, limit, give_up) {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("{} stopped with {status}; {}", self.name, self.log_end()),
            None => {
                self.kill()?;
                bail!("{} did not stop within {limit:?} and was killed", self.name)
            }
        }
    }

    /// Starts the process again after it has ended, on the same port and data, and does not wait for it.
    pub fn restart(&mut self) -> Result<()> {
        self.child = spawn(&self.config, Stdio::null())?;
        Ok(())
    }

    /// Runs another command of the program with the same configuration and returns its output.
    pub fn command(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<String> {
        let output = self.config.command().args(arguments).envs(environment.iter().copied()).output();
        let output = output.with_context(|| format!("cannot start {}", self.config.program.display()))?;
        if !output.status.success() {
            bail!("{} {}: {}", self.name, arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its configuration.
    pub fn config(&self) -> &ServiceConfig {
        &self.config
    }

    /// URL of a path.
    pub fn url(&self, path: &str) -> String {
        self.config.url() + path
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.config.port
    }

    /// Path of its program.
    pub fn program(&self) -> &Path {
        &self.config.program
    }

    /// Sets the program that runs after the next [`restart`](Self::restart).
    pub fn set_program(&mut self, program: PathBuf) {
        self.config.program = program;
    }

    /// Data folder.
    pub fn data(&self) -> &Path {
        &self.config.data
    }

    /// A token for a user of an organisation, valid from an hour ago for a day; without one for an administrator.
    pub fn token(&self, org: Option<&str>) -> String {
        // Services whose clock is behind accept it too.
        self.token_from(org, -3600, TOKEN_TTL)
    }

    /// A token of this identity.
    pub fn token_of(&self, identity: &Identity<'_>) -> String {
        identity.token(&self.keys, TOKEN_TTL)
    }

    /// A token that is valid from `seconds` after now.
    pub fn token_from(&self, org: Option<&str>, seconds: i64, ttl: Duration) -> String {
        Identity::of_org(org).token_from(&self.keys, seconds, ttl)
    }

    /// Sends a request, perhaps with an idempotency key, and returns any response.
    pub fn call(
        &self,
        method: &str,
        path: &str,
        token: &str,
        key: Option<&str>,
        body: &Body,
    ) -> Result<Response> {
        let key = key.map(|key| ("idempotency-key", key));
        self.client.send_with(method, &self.url(path), Some(token), key.as_slice(), body)
    }

    /// Sends a request. A status of 300 or more is an error.
    pub fn send(&self, method: &str, path: &str, token: &str, body: &Body) -> Result<Response> {
        let response = self.call(method, path, token, None, body)?;
        if response.status >= 300 {
            bail!("{method} {path} returned {}: {}", response.status, response.json);
        }
        Ok(response)
    }

    /// Sends a GET request. A status of 300 or more is an error.
    pub fn get(&self, path: &str, token: &str) -> Result<Response> {
        self.send("GET", path, token, &Body::Empty)
    }

    /// The cursor of the page that follows a page.
    pub fn cursor(&self, page: &str, token: &str) -> Result<String> {
        let response = self.get(page, token)?;
        response.cursor().map(str::to_owned).with_context(|| format!("no page follows {page}"))
    }

    /// Memory of the process.
    pub fn memory(&self) -> Result<Memory> {
        process_stats::memory(self.pid())
    }

    /// Proportional set size of the process in MiB.
    pub fn pss(&self) -> Result<f64> {
        process_stats::pss(self.pid())
    }

    /// The whole log since the first start.
    pub fn log(&self) -> String {
        fs::read_to_string(self.config.log()).unwrap_or_default()
    }

    /// Lines of the log at level ERROR: bugs, or data lost for good.
    pub fn errors(&self) -> Vec<String> {
        let log = self.log();
        log.lines().filter(|line| line.contains(r#""level":"ERROR""#)).map(str::to_owned).collect()
    }

    /// The end of the log, for an error message.
    pub fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let end = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n  ");
        format!("its log ({}) ends:\n  {end}", self.config.log().display())
    }
}

fn spawn(config: &ServiceConfig, stdin: Stdio) -> Result<Child> {
    let path = config.log();
    let log = File::options().create(true).append(true).open(&path);
    let log = log.with_context(|| format!("cannot write {}", path.display()))?;
    config
        .command()
        .arg("serve")
        .stdin(stdin)
        .stderr(log.try_clone().with_context(|| format!("cannot write {}", path.display()))?)
        .stdout(log)
        .process_group(0) // Ctrl-C reaches this program only, which stops its services
        .spawn()
        .with_context(|| format!("cannot start {}: build it again", config.program.display()))
}

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn config(name: &'static str) -> ServiceConfig {
        ServiceConfig {
            name,
            program: "/bin/true".into(),
            data: "/d".into(),
            keys: "/k".into(),
            port: 8081,
            database: None,
            log_format: "json",
            environment: Vec::new(),
        }
    }

    #[test]
    fn further_variables_win() {
        let mut config = config("system");
        let value = |config: &ServiceConfig, name: &str| {
            let all: std::collections::BTreeMap<_, _> = config.environment().into_iter().collect();
            all[name].clone()
        };
        assert_eq!(value(&config, "DROVER_DATABASE__URL"), "sqlite:///d/system.sqlite");
        assert_eq!(value(&config, "DROVER_SERVICE__STORE_URL"), "file:///d/files");
        assert_eq!(value(&config, "DROVER_AUTH__JWKS_FILE"), "/k/auth/jwks.json");
        config.environment = variables([("SERVICE__STORE_URL", "s3://bucket")]);
        assert_eq!(value(&config, "DROVER_SERVICE__STORE_URL"), "s3://bucket");
    }
}
