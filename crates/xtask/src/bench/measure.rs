//! A service of its own for a benchmark: how soon it answers, what it holds in memory, and how long each of its
//! requests took it, which is what its log says.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{Answer, Body, Client};
use crate::keys::DevKeys;
use crate::services::Place;
use crate::stop::Stop;
use crate::token::Identity;
use crate::{build_release, ports, process};

const READY_LIMIT: Duration = Duration::from_secs(30);
const TOKEN_TTL: Duration = Duration::from_secs(6 * 3600);

/// A running service that logs for machines.
#[derive(Debug)]
pub struct Measured {
    child: Child,
    place: Place,
    service: &'static str,
    client: Client,
    keys: DevKeys,
    _data: TempDir,
    /// From the start of the process to its first answer.
    pub start_up: Duration,
}

impl Measured {
    /// Starts a service in a new folder, which is removed in the end.
    pub fn start(service: &'static str, database: Option<&str>, stop: &Stop) -> Result<Self> {
        let binaries = build_release::release(stop)?;
        let data = tempfile::Builder::new().prefix("drover-bench-").tempdir().context("set TMPDIR")?;
        let [port] = ports::find_free()?;
        let place = Place { data: data.path().to_owned(), port, database: database.map(str::to_owned) };
        let keys = DevKeys::load_or_create(&place.data)?;
        fs::create_dir_all(place.data.join("log")).context("cannot make the log folder")?;
        let path = place.log(service);
        let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let begun = Instant::now();
        let child = Command::new(binaries.join(service))
            .envs(place.environment(service, 0))
            .env("DROVER_LOG__FORMAT", "json")
            .stdin(Stdio::null())
            .stderr(log.try_clone()?)
            .stdout(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", binaries.join(service).display()))?;
        let client = Client::new(Duration::from_secs(300));
        let mut measured =
            Self { child, place, service, client, keys, start_up: Duration::ZERO, _data: data };
        while measured.get("/healthz").is_err() {
            stop.check()?;
            if measured.child.try_wait()?.is_some() || begun.elapsed() > READY_LIMIT {
                bail!("{service} did not start: {}", fs::read_to_string(&path).unwrap_or_default());
            }
            sleep(Duration::from_millis(1));
        }
        measured.start_up = begun.elapsed();
        Ok(measured)
    }

    /// Some hours' token of somebody of this organisation; of an administrator without one.
    pub fn token(&self, org: Option<&str>) -> String {
        let admin = ["admin".to_owned()];
        let roles: &[String] = if org.is_none() { &admin } else { &[] };
        let who = Identity { user: "bench", name: None, org, org_name: None, roles };
        who.token(&self.keys, TOKEN_TTL)
    }

    /// Asks for a path; anything but success is an error.
    pub fn get(&self, path: &str) -> Result<Value> {
        let answer = self.client.send("GET", &format!("{}{path}", self.place.url(0)), None, &Body::Empty)?;
        if answer.status != 200 {
            bail!("{path} answered {}: {}", answer.status, answer.json);
        }
        Ok(answer.json)
    }

    /// Sends a request and tells how long its whole answer took, in milliseconds; anything but success is an error.
    pub fn send(&self, method: &str, path: &str, token: &str, body: &Body) -> Result<(Answer, f64)> {
        let begun = Instant::now();
        let url = format!("{}{path}", self.place.url(0));
        let answer = self.client.send(method, &url, Some(token), body)?;
        if answer.status != 200 {
            bail!("{path} answered {}: {}", answer.status, answer.json);
        }
        Ok((answer, begun.elapsed().as_secs_f64() * 1000.0))
    }

    /// Memory in use now, in MiB (Linux: `VmRSS`).
    pub fn resident(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024)
    }

    /// Stops the service and tells, for each operation, the milliseconds that its requests took in the order made.
    pub fn finish(mut self) -> Result<HashMap<String, Vec<f64>>> {
        self.end();
        let log = fs::read_to_string(self.place.log(self.service)).context("cannot read the log")?;
        let mut times = HashMap::<String, Vec<f64>>::new();
        for line in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if let (Some(operation), Some(ms)) = (line["operation"].as_str(), line["ms"].as_f64()) {
                times.entry(operation.to_owned()).or_default().push(ms);
            }
        }
        Ok(times)
    }

    fn end(&mut self) {
        process::signal(&self.child, Signal::TERM);
        if process::wait(&mut self.child, Duration::from_secs(10), || false).is_none() {
            process::signal(&self.child, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
    }
}
