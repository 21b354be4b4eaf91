//! Clocks ten minutes off, by libfaketime: each service by itself, and two replicas that disagree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::endure::Fault;
use crate::client::{Body, Client};
use crate::load::receiver::Receiver;
use crate::load::site::{NEW, Site, listing, load};
use crate::servers::{Package, install};
use crate::service::{Environment, Service};
use crate::stop::Stop;
use crate::trial::Trial;
use crate::workspace::SERVICES;

const PACKAGE: Package = Package {
    name: "libfaketime",
    by_hand: "libfaketime, which sets the clock of a program: `sudo apt-get install libfaketime` or \
              `sudo dnf install libfaketime`",
    prepare: || Ok(()),
};
/// So many notifications are sent.
const SENT: usize = 24;

/// Services ahead and behind; then a replica of each kind that is ahead.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let library = library(trial.stop)?;
    for offset in ["+10m", "-10m"] {
        let names = if trial.short { &SERVICES[1..2] } else { &SERVICES[..] };
        for name in names {
            alone(trial, name, offset, clock(&library, offset))?;
        }
    }
    notifications(trial, &library)?;
    facets(trial, &library)
}

/// The library, installed if it is missing.
pub fn library(stop: &Stop) -> Result<PathBuf> {
    let find = || {
        let folders = fs::read_dir("/usr/lib").into_iter().flatten();
        let folders = folders.filter_map(|entry| Some(entry.ok()?.path()));
        let all = ["/usr/lib", "/usr/lib64"].map(PathBuf::from).into_iter().chain(folders);
        all.map(|folder| folder.join("faketime/libfaketime.so.1")).find(|path| path.is_file())
    };
    if find().is_none() {
        install(&[PACKAGE], stop)?;
    }
    find().with_context(|| format!("install {}", PACKAGE.by_hand))
}

/// Another time of day; what is measured with goes on as before.
fn clock(library: &Path, offset: &str) -> Environment {
    let pairs = [
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME", offset.into()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Tokens are refused for the right reason, and everything else works.
fn alone(trial: &Trial<'_>, name: &'static str, offset: &str, environment: Environment) -> Result<()> {
    let folder = format!("clock-{name}{offset}");
    let site = Site::new(trial.service(name, &folder, None, environment)?)?;
    let (from, ttl, reason) = match offset {
        "+10m" => (0, Duration::from_secs(300), "expired"),
        _ => (0, Duration::from_secs(3600), "not valid yet"),
    };
    let token = site.service.token_from(Some(NEW), from, ttl);
    let answer = Client::new(Duration::from_secs(10)).send(
        "GET",
        &site.service.url("/v1/settings"),
        Some(&token),
        &Body::Empty,
    )?;
    let said = answer.header("www-authenticate").to_owned();
    let right = answer.status == 401 && said.contains(reason);
    trial.expect(
        right,
        format!("{name} {offset}: a token of now"),
        format!("{} {said}", answer.status),
        format!("401, {reason}"),
    )?;
    let what = format!("{name} {offset}: all operations");
    let hold = Duration::from_secs(1);
    let fault = Fault { hold, ..Fault::new(&what, vec![&site]) };
    let works = site.works(&fault.run).into_iter().map(|work| crate::load::Work { apart: true, ..work });
    let works = Some(works.collect());
    Fault { works, ..fault }.endure(trial, || Ok(()), || Ok(())).map(drop)
}

/// Two replicas of a service, the second ten minutes ahead.
fn replicas(
    trial: &Trial<'_>,
    name: &'static str,
    library: &Path,
    more: &Environment,
) -> Result<[Service; 2]> {
    let database = trial.databases.create(name)?;
    let [one, folder] = [1, 2].map(|number| format!("replica-{name}-{number}"));
    let first = trial.service(name, &one, Some(database.clone()), more.clone())?;
    trial.share_keys(&one, &folder)?;
    let environment = [more.clone(), clock(library, "+10m")].concat();
    let second = trial.service(name, &folder, Some(database), environment)?;
    Ok([first, second])
}

fn notifications(trial: &Trial<'_>, library: &Path) -> Result<()> {
    let receiver = Receiver::start(Duration::from_millis(300))?;
    let url = format!("http://127.0.0.1:{}/hook", receiver.port());
    let webhook = [
        ("DROVER_SERVICE__WEBHOOK_URL", url.as_str()),
        ("DROVER_SERVICE__WEBHOOK_ALLOW_PRIVATE", "true"),
        ("DROVER_SERVICE__WEBHOOK_SECRETS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        ("DROVER_SERVICE__WEBHOOK_TIMEOUT_MS", "3000"),
    ];
    let webhook = webhook.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let services = replicas(trial, "logistics", library, &webhook)?;
    let token = services[0].token(Some(NEW));
    let mut sent = BTreeSet::new();
    for number in 0..SENT {
        let [one, other] = [&services[number % 2], &services[(number + 1) % 2]];
        let body = load(NEW, &format!("N-{number}"), &json!(null));
        let made = one.send("POST", "/v1/loads/organiser", &token, &body)?;
        let id = made.json["id"].as_str().context("a load has no id")?;
        let body = Body::Json(json!({"loadId": id, "driverId": "driver-1", "driverName": "D"}));
        let answer = other.send("POST", "/v1/loads/send-to-driver", &token, &body)?;
        sent.insert(answer.json["id"].as_str().context("a notification has no id")?.to_owned());
    }
    let begun = Instant::now();
    while receiver.delivered().len() < SENT && begun.elapsed() < Duration::from_secs(20) {
        trial.pause(Duration::from_millis(50))?;
    }
    trial.pause(Duration::from_secs(if trial.short { 1 } else { 8 }))?; // longer than a lease
    let delivered = receiver.delivered();
    let once = delivered.keys().eq(&sent) && delivered.values().all(|times| *times == 1);
    let times: usize = delivered.values().sum();
    let figure = format!(
        "{} sent, {times} deliveries of {}, {} at once",
        sent.len(),
        delivered.len(),
        receiver.overlaps()
    );
    let what = "two replicas ten minutes apart: notifications";
    trial.expect(once && receiver.overlaps() == 0, what, figure, "each once, none twice at once")?;
    same_key(trial, &services)?;
    pages(trial, services)
}

/// A key that one replica has used, the other replays.
fn same_key(trial: &Trial<'_>, services: &[Service; 2]) -> Result<()> {
    let (client, token) = (Client::new(Duration::from_secs(10)), services[0].token(Some(NEW)));
    let mut ids = BTreeSet::new();
    for (first, second) in [(0, 1), (1, 0)] {
        let key = format!("key-{first}");
        let body = load(NEW, &key, &json!(null));
        let mut answers = Vec::new();
        for service in [&services[first], &services[second]] {
            let headers = [("idempotency-key", key.as_str())];
            answers.push(client.send_with(
                "POST",
                &service.url("/v1/loads/organiser"),
                Some(&token),
                &headers,
                &body,
            )?);
        }
        ensure!(
            answers[1].header("idempotency-replayed") == "true",
            "{} {}",
            answers[1].status,
            answers[1].json
        );
        ensure!(answers[0].json == answers[1].json, "a replay is another answer");
        ids.insert(answers[0].json["id"].to_string());
    }
    trial.expect(
        ids.len() == 2,
        "two replicas ten minutes apart: idempotency keys",
        "replayed both ways",
        "once",
    )
}

/// Newest first, by either, nothing is skipped or repeated.
fn pages(trial: &Trial<'_>, services: [Service; 2]) -> Result<()> {
    for service in services {
        let site = Site { service, known: String::new() };
        let pages = site.pages(NEW, 7)?;
        let ids: BTreeSet<_> = pages.iter().map(|load| load["id"].to_string()).collect();
        let times: Vec<_> = pages.iter().map(|load| load["createdAtUTC"].to_string()).collect();
        let figure = format!("{} on pages, {} of them different, of {}", pages.len(), ids.len(), SENT + 2);
        let right = pages.len() == SENT + 2 && ids.len() == SENT + 2 && times.is_sorted_by(|a, b| a >= b);
        trial.expect(right, "two replicas ten minutes apart: pages, newest first", figure, "each once")?;
    }
    Ok(())
}

/// What one replica writes the other counts at once.
fn facets(trial: &Trial<'_>, library: &Path) -> Result<()> {
    let services = replicas(trial, "livestock", library, &Environment::new())?;
    let token = services[0].token(Some(NEW));
    for number in 0..SENT {
        services[number % 2].send("POST", "/v1/listings/sheep", &token, &listing("count", &json!(null)))?;
        for service in &services {
            let counted = service.get(&format!("/v1/listings?docs=false&f:organisationId={NEW}"), &token)?;
            ensure!(
                counted.json["total"] == number + 1,
                "{} of {} are counted",
                counted.json["total"],
                number + 1
            );
        }
    }
    let figure = format!("{SENT} writes counted at once by both");
    trial.note("two replicas ten minutes apart: facets", figure, "all");
    Ok(())
}
