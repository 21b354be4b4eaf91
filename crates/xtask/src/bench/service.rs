//! A service of its own for a benchmark, started as `up` does, its log at the default level for machines.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::proc::{self, Memory};
use super::sample::Sample;
use super::wrk::Requests;
use crate::client::{Answer, Body, Client};
use crate::keys::DevKeys;
use crate::services::Place;
use crate::token::Identity;
use crate::{ports, process};

const READY_LIMIT: Duration = Duration::from_secs(30);
const TOKEN_TTL: Duration = Duration::from_secs(24 * 3600);

/// A running service. Dropped, it stops.
#[derive(Debug)]
pub struct Service {
    child: Child,
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
        let [port] = ports::find_free()?;
        fs::create_dir_all(data.join("log")).context("cannot make the log folder")?;
        let keys = DevKeys::load_or_create(&data)?;
        let place = Place { data, port, database };
        let path = place.log(name);
        let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let begun = Instant::now();
        let child = Command::new(binary)
            .arg("serve")
            .envs(place.environment(name, 0))
            .env("DROVER_LOG__FORMAT", "json")
            .stdin(Stdio::null())
            .stderr(log.try_clone()?)
            .stdout(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let client = Client::new(Duration::from_secs(300));
        let mut service = Self { child, place, client, keys, name, start_up: Duration::ZERO };
        while service.client.send("GET", &service.url("/healthz"), None, &Body::Empty).is_err() {
            if service.child.try_wait()?.is_some() || begun.elapsed() > READY_LIMIT {
                bail!("{name} did not start: {}", fs::read_to_string(&path).unwrap_or_default());
            }
            sleep(Duration::from_micros(500));
        }
        service.start_up = begun.elapsed();
        Ok(service)
    }

    /// Some hours' token of somebody of this organisation; of an administrator without one.
    pub fn token(&self, org: Option<&str>) -> String {
        let admin = ["admin".to_owned()];
        let roles: &[String] = if org.is_none() { &admin } else { &[] };
        let who = Identity { user: "bench", name: None, org, org_name: None, roles };
        who.token(&self.keys, TOKEN_TTL)
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.place.url(0))
    }

    /// Its SQLite file, if that is what it has.
    pub fn sqlite(&self) -> PathBuf {
        self.place.data.join(format!("{}.sqlite", self.name))
    }

    /// Its folder.
    pub fn data(&self) -> &Path {
        &self.place.data
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
        let rest = answer.header("link").split("cursor=").nth(1);
        let cursor = rest.and_then(|rest| rest.split(['>', '&']).next());
        cursor.map(str::to_owned).with_context(|| format!("{page} has no page after it"))
    }

    /// Loads it with requests, and says what they took of the cores.
    pub fn load(&self, requests: &Requests, clients: usize, seconds: u64) -> Result<Sample> {
        self.timed(|| requests.send(&self.url(""), clients, seconds))
    }

    /// What a piece of work took of the cores here.
    pub fn timed(&self, work: impl FnOnce() -> Result<Sample>) -> Result<Sample> {
        let before = proc::cpu_us(self.child.id())?;
        let sample = work()?;
        Ok(Sample { cpu_us: Some(proc::cpu_us(self.child.id())? - before), ..sample })
    }

    /// What it holds now.
    pub fn memory(&self) -> Result<Memory> {
        proc::memory(self.child.id())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Ends a process that was started here, and sees it gone.
pub fn end(child: &mut Child) {
    process::signal(child, Signal::TERM);
    if process::wait(child, Duration::from_secs(10), || false).is_none() {
        process::signal(child, Signal::KILL);
        let _ = child.wait();
    }
}
