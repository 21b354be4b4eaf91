//! The services that are treated badly, with something in them, and what is expected of them whatever is done.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::honest::{Honest, Request};
use super::socket::Ends;
use crate::client::Body;
use crate::multipart::Form;
use crate::service::{Environment, Service};
use crate::trial::Trial;

/// Whoever asks.
pub const ORG: &str = "hereford-haulage";
/// Honest clients are served within this, in milliseconds, on any machine, busy with whatever else, and without
/// optimisation too.
const P99_MAX: f64 = 3000.0;
/// So many files beyond those at the start may be open: of honest clients' connections and of the database.
const FILES_MAX: usize = 25;
/// So many requests of honest clients may have to be asked again while one thing is done.
const AGAIN_MAX: usize = 5;
/// MiB beyond those at the start that a service may hold when all is over.
const KEPT_MAX: f64 = 200.0;
/// The largest file that may be uploaded.
pub const FILE_BYTES: usize = 25 << 20;

/// A service that is abused.
pub struct Victim {
    /// Itself.
    pub service: Service,
    /// The token of a caller.
    pub token: String,
    honest: Honest,
    alone: f64,
    /// Its files and MiB before anything was done.
    at_first: (usize, f64),
}

/// Both of them.
pub struct Stage<'a> {
    /// What it is part of.
    pub trial: &'a Trial<'a>,
    /// Files and places.
    pub system: Victim,
    /// Loads.
    pub logistics: Victim,
    /// The path of a file of 25 MiB.
    pub large: String,
}

/// What an abuser may get, and what it may cost.
pub struct Bounds<'a> {
    /// Ends of its requests.
    pub ends: &'a [&'a str],
    /// MiB beyond those at the start.
    pub memory: f64,
}

impl<'a> Stage<'a> {
    /// Starts and fills them.
    pub fn new(trial: &'a Trial<'a>) -> Result<Self> {
        let mut settings = timeout_settings(trial.short);
        let system = trial.service("system", "abuse-system", None, settings.clone())?;
        settings.push(("DROVER_SERVICE__SYSTEM_URL".into(), system.url("")));
        let logistics = trial.service("logistics", "abuse-logistics", None, settings)?;
        let (of_system, of_logistics) = (system.token(Some(ORG)), logistics.token(Some(ORG)));
        let file =
            |content| Ok::<_, anyhow::Error>(format!("/v1/files/{}", upload(&system, &of_system, content)?));
        let (large, small) = (file(vec![0x41; FILE_BYTES])?, file(vec![0x42; 10_000])?);
        fill(&logistics, &of_logistics, if trial.short { 2000 } else { 20_000 })?;
        let system = Victim::new(system, of_system, |url| {
            vec![
                get(url("/v1/addresses?query=hereford")),
                get(url(&small)),
                get(url(&format!("{small}/info"))),
                get(url("/v1/locations/coordinates?lat=52.05&lon=-2.71")),
            ]
        })?;
        let logistics = Victim::new(logistics, of_logistics, |url| {
            let create =
                Request { method: "POST", url: url("/v1/loads/carrier"), json: Some(load("honest")) };
            vec![
                get(url("/v1/loads?query=batch-17")),
                create,
                get(url("/v1/loads?sortBy=reference")),
                get(url("/v1/commodities")),
            ]
        })?;
        Ok(Self { trial, system, logistics, large })
    }

    /// Does something to a service while others are served, and fails unless it ends as it must, within bounds.
    pub fn abuse(
        &self,
        what: impl Into<String>,
        victim: &Victim,
        bounds: &Bounds<'_>,
        act: impl FnOnce() -> Result<Ends>,
    ) -> Result<()> {
        self.trial.stop.check()?;
        let (service, what) = (&victim.service, what.into());
        let (before, open) = (service.memory()?.anon, victim.at_first.0);
        let (ends, seen) = victim.honest.ask_while(service.pid(), act).context(what.clone())?;
        let settled = settle(service, open, self.trial.short)?;
        let after = service.memory().with_context(|| format!("{} has died", service.name))?.anon;
        let (peak, p99) = (seen.peak.max(after), seen.p99());
        let right = ends.only(bounds.ends)
            && peak - before <= bounds.memory
            && p99 <= P99_MAX
            && seen.failed.is_empty()
            && seen.again <= AGAIN_MAX
            && settled.is_none();
        let failed =
            seen.failed.first().map(|why| format!("; {} of others failed: {why}", seen.failed.len()));
        let held = settled.map(|files| format!("; {files} files are still open, {open} were"));
        let figure = format!(
            "{}; {before:.0} MiB, peak {peak:.0}, after {after:.0}; p99 of {} others {p99:.1} ms (alone {:.1}), {} asked again{}{}",
            ends.text(),
            seen.took.len(),
            victim.alone,
            seen.again,
            failed.unwrap_or_default(),
            held.unwrap_or_default()
        );
        let named = if bounds.ends.len() > 5 { "those ends".into() } else { bounds.ends.join(" or ") };
        let allowed = format!(
            "{named}; at most {:.0} MiB more; p99 at most {P99_MAX:.0} ms, none failed, {AGAIN_MAX} asked again; all files closed",
            bounds.memory
        );
        self.trial.expect(right, format!("abuse, {}: {what}", service.name), figure, allowed)
    }

    /// What is left of all that was done, which no single part of it would show.
    pub fn at_last(&self) -> Result<()> {
        for Victim { service, at_first: (_, before), .. } in [&self.system, &self.logistics] {
            let after = service.memory()?.anon;
            self.trial.expect(
                after - before <= KEPT_MAX,
                format!("abuse, {}: memory when all is over", service.name),
                format!("{before:.0} MiB, then {after:.0}"),
                format!("at most {KEPT_MAX:.0} MiB more"),
            )?;
        }
        Ok(())
    }
}

impl Victim {
    /// A service, and what honest clients ask of it.
    pub fn new(
        service: Service,
        token: String,
        requests: impl FnOnce(&dyn Fn(&str) -> String) -> Vec<Request>,
    ) -> Result<Self> {
        let honest = Honest { token: token.clone(), requests: requests(&|path| service.url(path)) };
        let ((), seen) = honest.ask_while(service.pid(), || Ok(()))?;
        if let Some(failed) = seen.failed.first() {
            anyhow::bail!("an honest request failed before anything was done: {failed}");
        }
        let at_first = (files(service.pid())?, service.memory()?.anon);
        Ok(Self { service, token, honest, alone: seen.p99(), at_first })
    }

    /// The same with the token of an abuser who is none of the honest clients.
    pub fn abused_by(mut self, token: String) -> Self {
        self.token = token;
        self
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.service.port()
    }
}

/// Settings for the timeouts of clients: the defaults, but shorter ones in the short form.
pub fn timeout_settings(short: bool) -> Environment {
    let seconds = [("HEAD", 2), ("IDLE", 2), ("STALLED", 3)];
    let setting = |(name, seconds)| (format!("DROVER_SERVER__{name}_SECONDS"), format!("{seconds}"));
    if short { seconds.map(setting).to_vec() } else { Vec::new() }
}

/// How many files a process has open.
pub fn files(pid: u32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd")).context("cannot count open files: this needs Linux")?.count())
}

/// Waits for what was left to be closed and given back; so many files if it was not.
fn settle(service: &Service, open: usize, short: bool) -> Result<Option<usize>> {
    let begun = Instant::now();
    sleep(Duration::from_secs(if short { 0 } else { 5 }));
    loop {
        let now = files(service.pid())?;
        if now <= open + FILES_MAX {
            return Ok(None);
        }
        if begun.elapsed() > Duration::from_secs(15) {
            return Ok(Some(now));
        }
        sleep(Duration::from_millis(100));
    }
}

/// A load of the carrier's form.
pub fn load(reference: &str) -> Value {
    json!({
        "carrierId": ORG, "carrierName": "Hereford Haulage", "commodityId": 1, "reference": reference,
        "deliveryDateISO": "2026-03-01", "weight": 29.4, "tags": [],
    })
}

/// A request for an address.
pub fn get(url: String) -> Request {
    Request { method: "GET", url, json: None }
}

/// Uploads a file and gives its id.
pub fn upload(system: &Service, token: &str, content: Vec<u8>) -> Result<String> {
    let fields = [("bucket", "files"), ("type", "misc"), ("name", "a")];
    let fields = fields.map(|(name, value)| (name, value.to_owned())).to_vec();
    let form =
        Form { fields, file_name: "a.bin", media_type: "application/octet-stream", content: content.into() };
    let answer = system.send("POST", "/v1/files", token, &Body::Form(form))?;
    Ok(answer.json["id"].as_str().context("an upload has no id")?.to_owned())
}

fn fill(logistics: &Service, token: &str, count: usize) -> Result<()> {
    let row = |n| format!("batch-{n},2026-03-{:02},1,{ORG},Hereford Haulage,{}\n", n % 28 + 1, n % 40);
    let rows = (0..count).map(row).collect::<Vec<_>>().concat();
    let table = format!("reference,deliveryDateISO,commodityId,carrierId,carrierName,weight\n{rows}");
    let content = table.into_bytes().into();
    let form = Form { fields: Vec::new(), file_name: "loads.csv", media_type: "text/csv", content };
    logistics.send("POST", "/v1/loads/batch", token, &Body::Form(form)).map(drop)
}

/// How many files lie below a folder.
pub fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}
