//! Two organisations use the same services: one abuses them, the other works meanwhile and must not notice.

mod batches;
mod connections;
mod facets;
mod notifications;
mod sharing;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use self::notifications::SlowReceiver;
use super::honest::Request;
use super::socket::Ends;
use super::stage::{Bounds, Stage, Victim, get, timeout_settings, upload};
use crate::client::{AT_ONCE, Answer, Body, Client};

const ATTACKER: &str = "attacker";
const HONEST: &str = "honest";
/// MiB beyond the start that an attack may cost a service.
const MEMORY: f64 = 128.0;
const TIMEOUT: Duration = Duration::from_secs(120);
/// Of an attack of many small requests.
const THREADS: usize = AT_ONCE / 2;
const FOLDER: &str = "abuse-tenants";

/// The services that both use. Each `Victim` has the token of the attacker; its honest clients have their own.
struct Tenants<'a> {
    stage: &'a Stage<'a>,
    database: &'static str,
    system: Victim,
    logistics: Victim,
    livestock: Victim,
    receiver: SlowReceiver,
    /// Token of the honest organisation.
    honest: String,
    /// Shared by all threads of an attack.
    client: Client,
}

/// Runs all attacks over one kind of database, in the long form over both.
pub fn requests(stage: &Stage<'_>) -> Result<()> {
    all(&Tenants::new(stage, false)?)?;
    if stage.trial.short {
        return Ok(());
    }
    all(&Tenants::new(stage, true)?)
}

fn all(tenants: &Tenants<'_>) -> Result<()> {
    let shared = sharing::files(tenants)?;
    sharing::loads(tenants, &shared)?;
    facets::listings(tenants)?;
    notifications::queue(tenants)?;
    batches::uploads(tenants)?;
    connections::compressed(tenants)
}

impl<'a> Tenants<'a> {
    fn new(stage: &'a Stage<'a>, postgres: bool) -> Result<Self> {
        let (trial, receiver) = (stage.trial, SlowReceiver::start()?);
        let folder = if postgres { format!("{FOLDER}-postgres") } else { FOLDER.to_owned() };
        let start = |name: &'static str, environment: &[(&str, String)]| {
            let database = postgres.then(|| trial.databases.create(name)).transpose()?;
            let own =
                environment.iter().map(|(name, value)| (format!("DROVER_SERVICE__{name}"), value.clone()));
            let all = timeout_settings(trial.short).into_iter().chain(own).collect();
            trial.service(name, &folder, database, all)
        };
        let system = start("system", &[])?;
        let system_url = ("SYSTEM_URL", system.url(""));
        let webhook = [
            system_url.clone(),
            ("WEBHOOK_URL", format!("http://127.0.0.1:{}/hook", receiver.port())),
            ("WEBHOOK_ALLOW_PRIVATE", "true".to_owned()),
            ("WEBHOOK_SECRETS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        ];
        let (logistics, livestock) = (start("logistics", &webhook)?, start("livestock", &[system_url])?);
        let (attacker, honest) = (system.token(Some(ATTACKER)), system.token(Some(HONEST)));

        let file = upload(&system, &honest, vec![0x43; 1000])?;
        let post = |url, json| Request { method: "POST", url, json: Some(json) };
        let resolve = post(system.url("/v1/files/resolve"), json!({"ids": [file]}));
        let system = Victim::new(system, honest.clone(), |url| {
            let path = format!("/v1/files/{file}");
            vec![resolve.clone(), get(url(&path)), get(url(&format!("{path}/info")))]
        })?
        .abused_by(attacker.clone());
        let logistics = Victim::new(logistics, honest.clone(), |url| {
            let create = post(url("/v1/loads/organiser"), load(HONEST, &[&file]));
            vec![create, get(url("/v1/loads")), get(url("/v1/commodities"))]
        })?
        .abused_by(attacker.clone());
        let livestock = Victim::new(livestock, honest.clone(), |url| {
            let create = post(url("/v1/listings/sheep"), listing(&["Texel", "pure", "Texel Society"]));
            let searches = ["/v1/listings?docs=false", "/v1/listings", "/v1/categories"];
            [create].into_iter().chain(searches.map(|path| get(url(path)))).collect()
        })?
        .abused_by(attacker);
        let (client, database) = (Client::new(TIMEOUT), if postgres { "PostgreSQL" } else { "SQLite" });
        Ok(Self { stage, database, system, logistics, livestock, receiver, honest, client })
    }

    fn is_short(&self) -> bool {
        self.stage.trial.short
    }

    /// [`Stage::abuse`] of a service by the attacker.
    fn abuse(
        &self,
        what: &str,
        victim: &Victim,
        ends: &[&str],
        act: impl FnOnce() -> Result<Ends>,
    ) -> Result<()> {
        self.abuse_within(what, victim, &Bounds { ends, memory: MEMORY }, act)
    }

    /// As [`Self::abuse`], with bounds of its own.
    fn abuse_within(
        &self,
        what: &str,
        victim: &Victim,
        bounds: &Bounds<'_>,
        act: impl FnOnce() -> Result<Ends>,
    ) -> Result<()> {
        self.stage.abuse(format!("{what}, over {}", self.database), victim, bounds, act)
    }

    /// What came of it besides, and what is allowed.
    fn expect(
        &self,
        right: bool,
        victim: &Victim,
        what: &str,
        figure: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Result<()> {
        let what = format!("abuse, {}: {what}, over {}", victim.service.name, self.database);
        self.stage.trial.expect(right, what, figure, allowed)
    }

    /// A POST of the attacker.
    fn attack(&self, victim: &Victim, path: &str, body: Body) -> Result<Answer> {
        self.client.send("POST", &victim.service.url(path), Some(&victim.token), &body)
    }

    /// Calls `act` with each number below `count`, from so many threads. Gives the ends of all.
    fn repeat(
        &self,
        threads: usize,
        count: usize,
        act: impl Fn(usize) -> Result<String> + Sync,
    ) -> Result<Ends> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<Ends> {
            let mut ends = Ends::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(ends);
                }
                self.stage.trial.check()?;
                ends.add(act(number)?);
            }
        };
        scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut all = Ends::default();
            for thread in threads {
                all.join(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
            }
            Ok(all)
        })
    }
}

/// A status, and for a refusal the code and the path of its first entry.
fn end(answer: &Answer) -> String {
    let entry = &answer.json["validation"][0];
    match (entry["code"].as_str(), entry["path"].as_str()) {
        (Some(code), Some(path)) => format!("{} {code} at {path}", answer.status),
        _ => answer.status.to_string(),
    }
}

fn load(organiser: &str, files: &[&str]) -> Value {
    let files: Vec<_> = files.iter().map(|id| json!({"id": id})).collect();
    json!({
        "organiserId": organiser, "organiserName": "Organiser", "commodityId": 1, "reference": "tenants",
        "deliveryDateISO": "2026-03-01", "weight": 29.4, "weightNet": null, "files": files, "tags": [],
    })
}

/// Sheep of this breed, breed type and society.
fn listing([breed, breed_type, society]: &[&str; 3]) -> Value {
    json!({
        "type": "selling", "isDraft": false, "categoryIds": [1], "location": null, "files": null,
        "price": {"type": "poa"}, "description": "Ewes", "tags": [],
        "properties": {"breed": breed, "breedType": breed_type, "breedSociety": society},
    })
}
