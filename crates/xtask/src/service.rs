//! One service of its own, for a measurement or a trial: started as `up` does, its log as machines read it, and ended,
//! killed and started again at will.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use crate::client::{Answer, Body, Client};
use crate::keys::DevKeys;
use crate::proc::{self, Memory};
pub use crate::services::Environment;
use crate::services::Place;
use crate::token::Identity;
use crate::trial::Trial;
use crate::{ports, process};

/// From the start of a process to its being ready, also where seven that are built for debugging start at once on a
/// machine that does much else.
const READY_LIMIT: Duration = Duration::from_secs(60);
const TOKEN_TTL: Duration = Duration::from_secs(24 * 3600);

/// A running service. Dropped, it stops.
#[derive(Debug)]
pub struct Service {
    child: Child,
    binary: PathBuf,
    place: Place,
    client: Client,
    keys: DevKeys,
    /// Its name.
    pub name: &'static str,
    /// From the start of the process to its first answer.
    pub start_up: Duration,
}

impl Service {
    /// Starts a binary over a data folder, which is made if it is missing.
    pub fn start(name: &'static str, binary: &Path, data: PathBuf, database: Option<String>) -> Result<Self> {
        Self::start_with(name, binary, data, database, Vec::new())
    }

    /// Starts a binary that is told more than the usual.
    pub fn start_with(
        name: &'static str,
        binary: &Path,
        data: PathBuf,
        database: Option<String>,
        environment: Environment,
    ) -> Result<Self> {
        let start = || Self::start_once(name, binary, data.clone(), database.clone(), environment.clone());
        // Between finding a port and using it another program may take it.
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

    fn start_once(
        name: &'static str,
        binary: &Path,
        data: PathBuf,
        database: Option<String>,
        environment: Environment,
    ) -> Result<Self> {
        let [port] = ports::find_free()?;
        fs::create_dir_all(data.join("log")).context("cannot make the log folder")?;
        let keys = DevKeys::load_or_create(&data)?;
        let place = Place { data, port, database, more: environment, ..Place::default() };
        let begun = Instant::now();
        let child = spawn(name, binary, &place)?;
        let client = Client::new(Duration::from_secs(300));
        let binary = binary.to_owned();
        let start_up = Duration::ZERO;
        let mut service = Self { child, binary, place, client, keys, name, start_up };
        service.wait(begun)?;
        Ok(service)
    }

    /// Waits for the first answer.
    fn wait(&mut self, begun: Instant) -> Result<()> {
        while self.client.send("GET", &self.url("/healthz"), None, &Body::Empty).is_err() {
            if self.child.try_wait()?.is_some() || begun.elapsed() > READY_LIMIT {
                bail!("{} did not start: {}", self.name, self.log());
            }
            sleep(Duration::from_micros(500));
        }
        self.start_up = begun.elapsed();
        // Else the answer is that of another program, which has its port.
        match self.child.try_wait()? {
            None => Ok(()),
            Some(_) => bail!("{} did not start: {}", self.name, self.log()),
        }
    }

    /// Ends it at once, as a power cut does (`kill -9`).
    pub fn kill(&mut self) -> Result<()> {
        process::signal(&self.child, Signal::KILL);
        self.child.wait().with_context(|| format!("cannot wait for {}", self.name))?;
        Ok(())
    }

    /// Waits until it has ended in order, once it is told to, at most so long.
    pub fn wait_ended(&mut self, limit: Duration) -> Result<()> {
        match process::wait(&mut self.child, limit, || false) {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("{} stopped with {status}: {}", self.name, self.log()),
            None => bail!("{} has not stopped after {limit:?}", self.name),
        }
    }

    /// Whether it says that it is ready.
    pub fn is_ready(&self) -> bool {
        let answer = self.client.send("GET", &self.url("/readyz"), None, &Body::Empty);
        answer.is_ok_and(|answer| answer.status == 200)
    }

    /// Waits until it says that it is ready, which it has not been since its start.
    pub fn wait_ready(&self, trial: &Trial<'_>, since: Instant) -> Result<()> {
        while !self.is_ready() {
            trial.check()?;
            if !self.is_running() || since.elapsed() > READY_LIMIT {
                bail!("{} is not ready after {:.1?}: {}", self.name, since.elapsed(), self.log());
            }
            sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Starts it again where it was, over what it left, and does not wait for it.
    pub fn launch_again(&mut self) -> Result<()> {
        self.child = spawn(self.name, &self.binary, &self.place)?;
        Ok(())
    }

    /// Runs another command of its program over the same data, told more than it is, and gives what that prints.
    pub fn command(&self, arguments: &[&str], more: &[(&str, &str)]) -> Result<String> {
        let mut command = told(self.name, &self.binary, &self.place);
        let output = command.args(arguments).envs(more.iter().copied()).output();
        let output = output.with_context(|| format!("cannot start {}", self.binary.display()))?;
        if !output.status.success() {
            bail!("{} {}: {}", self.name, arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Sends it a signal, such as one that freezes it.
    pub fn signal(&self, signal: Signal) {
        process::signal(&self.child, signal);
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether its process has not ended.
    pub fn is_running(&self) -> bool {
        fs::read_to_string(format!("/proc/{}/stat", self.pid())).is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// Some hours' token of somebody of this organisation; of an administrator without one.
    pub fn token(&self, org: Option<&str>) -> String {
        // By the clock of a service that is a little behind too.
        self.token_from(org, -3600, TOKEN_TTL)
    }

    /// A token that is valid from so many seconds after now.
    pub fn token_from(&self, org: Option<&str>, seconds: i64, ttl: Duration) -> String {
        let admin = ["admin".to_owned()];
        let roles: &[String] = if org.is_none() { &admin } else { &[] };
        let who = Identity { user: org.unwrap_or("bench"), name: None, org, org_name: None, roles };
        who.token_from(&self.keys, seconds, ttl)
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.place.url(0))
    }

    /// The port that it listens on, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.place.port
    }

    /// Its SQLite file, if that is what it has.
    pub fn sqlite(&self) -> PathBuf {
        self.place.data.join(format!("{}.sqlite", self.name))
    }

    /// Its folder.
    pub fn data(&self) -> &Path {
        &self.place.data
    }

    /// What it has logged since its first start.
    pub fn log(&self) -> String {
        fs::read_to_string(self.place.log(self.name)).unwrap_or_default()
    }

    /// The lines of that which nobody should have to read: errors are bugs, or what is lost for good.
    pub fn errors(&self) -> Vec<String> {
        let log = self.log();
        log.lines().filter(|line| line.contains(r#""level":"ERROR""#)).map(str::to_owned).collect()
    }

    /// Sends a request; anything but success is an error.
    pub fn send(&self, method: &str, path: &str, token: &str, body: &Body) -> Result<Answer> {
        let answer = self.client.send(method, &self.url(path), Some(token), body)?;
        if answer.status >= 300 {
            bail!("{method} {path} answered {}: {}", answer.status, answer.json);
        }
        Ok(answer)
    }

    /// Asks for a path.
    pub fn get(&self, path: &str, token: &str) -> Result<Answer> {
        self.send("GET", path, token, &Body::Empty)
    }

    /// The cursor in the link to what comes after a page.
    pub fn cursor(&self, page: &str, token: &str) -> Result<String> {
        let answer = self.get(page, token)?;
        answer.cursor().map(str::to_owned).with_context(|| format!("{page} has no page after it"))
    }

    /// What it holds now.
    pub fn memory(&self) -> Result<Memory> {
        proc::memory(self.child.id())
    }
}

fn spawn(name: &str, binary: &Path, place: &Place) -> Result<Child> {
    let path = place.log(name);
    let log = File::options().create(true).append(true).open(&path);
    let log = log.with_context(|| format!("cannot write {}", path.display()))?;
    told(name, binary, place)
        .arg("serve")
        .stderr(log.try_clone()?)
        .stdout(log)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))
}

/// Its program, told where it is; what for is still to be said.
fn told(name: &str, binary: &Path, place: &Place) -> Command {
    let mut command = Command::new(binary);
    command.envs(place.environment(name, 0)).env("DROVER_LOG__FORMAT", "json").stdin(Stdio::null());
    command
}

impl Drop for Service {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}
