//! Things of every kind, and what the services answer of them before anything is lost.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::{Stage, Who};
use crate::client::{Answer, Body, Client};
use crate::load::site::{file, listing, load};
use crate::multipart::Form;

/// Whose they are, and who else sees some of them.
pub const OWN: &str = "org-known";
const OTHER: &str = "haul";
pub const SYSTEM: usize = 0;
pub const LOGISTICS: usize = 1;
pub const LIVESTOCK: usize = 2;
/// So many loads, listings and files.
const EACH: usize = 12;
const PATIENCE: Duration = Duration::from_secs(60);

/// What was asked, and answered: status, how many there are, and every byte.
struct Asked {
    service: usize,
    path: String,
    who: Who,
    answer: (u16, String, Vec<u8>),
}

/// A write under a key, and the id that it was answered with.
struct Keyed {
    service: usize,
    path: &'static str,
    body: Body,
    key: String,
    id: String,
}

/// All of it.
pub struct Known {
    client: Client,
    asked: Vec<Asked>,
    keyed: Vec<Keyed>,
    /// Notifications that the receiver has taken, and such that it is still to get.
    pub delivered: Vec<String>,
    pub pending: Vec<String>,
    /// Active ones, one of which is to be closed.
    pub listings: Vec<String>,
}

impl Known {
    /// Puts a few things of every kind into the services.
    pub fn fill(stage: &Stage<'_>) -> Result<Self> {
        let (asked, keyed, delivered, pending, listings) = Default::default();
        let mut known = Self { client: Client::new(PATIENCE), asked, keyed, delivered, pending, listings };
        let files = known.files(stage)?;
        let own = &files[..EACH - 1];
        known.loads(stage, own)?;
        known.listings(stage, own)?;
        // Now that they are shared with whoever sees those.
        for id in &files {
            for (path, who) in [("", OWN), ("", OTHER), ("/info", OWN)] {
                known.ask(stage, SYSTEM, &format!("/v1/files/{id}{path}"), Some(who))?;
            }
        }
        let settings = json!({"logging": {"level": "info", "filter": "actix_web=warn"}});
        for service in [SYSTEM, LOGISTICS, LIVESTOCK] {
            stage.send(service, ("PUT", "/v1/settings"), None, &Body::Json(settings.clone()))?;
            known.ask(stage, service, "/v1/settings", None)?;
        }
        Ok(known)
    }

    /// Files that all may read and such that only some may, one archived.
    fn files(&mut self, stage: &Stage<'_>) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for number in 0..EACH {
            let content = vec![b'a' + u8::try_from(number)?; 1 << (number + 8)];
            let mut body = file(format!("known {number}"), content);
            if let (Body::Form(Form { fields, .. }), true) = (&mut body, number % 3 == 0) {
                *fields = vec![("bucket", "files".into()), ("type", "sample".into()), ("name", "a".into())];
            }
            ids.push(self.make(stage, SYSTEM, "/v1/files", body)?);
        }
        let share = Body::Json(json!({"ids": [ids[1]], "shareWith": [OTHER]}));
        stage.send(SYSTEM, ("POST", "/v1/files/resolve"), Some(OWN), &share)?;
        let last = format!("/v1/files/{}", ids[EACH - 1]);
        stage.send(SYSTEM, ("DELETE", &last), Some(OWN), &Body::Empty)?;
        Ok(ids)
    }

    /// Loads with files, a batch, a proof, notifications that are delivered and such that are not.
    fn loads(&mut self, stage: &Stage<'_>, files: &[String]) -> Result<()> {
        let mut ids = Vec::new();
        for number in 0..EACH {
            let files = json!([{"id": files[number % files.len()]}]);
            ids.push(self.make(
                stage,
                LOGISTICS,
                "/v1/loads/organiser",
                load(OWN, &format!("KNOWN-{number}"), &files),
            )?);
        }
        let all = format!("/v1/loads?f:organiserId={OWN}");
        let csv = self.client.send(
            "GET",
            &stage.services[LOGISTICS].url(&format!("{all}&format=CSV")),
            Some(&stage.token(Some(OWN))),
            &Body::Empty,
        )?;
        let batch = Form {
            fields: Vec::new(),
            file_name: "loads.csv",
            media_type: "text/csv",
            content: csv.bytes.into(),
        };
        stage.send(LOGISTICS, ("POST", "/v1/loads/batch"), Some(OWN), &Body::Form(batch))?;
        let proof = json!({"weightNet": 27.5, "ticketNumber": "T-1", "vehicleRegistration": "VX12KLM", "files": [{"id": files[0]}]});
        let path = format!("/v1/loads/{}/proof-of-delivery", ids[0]);
        stage.send(LOGISTICS, ("POST", &path), Some(OWN), &Body::Json(proof))?;
        for (number, id) in ids.iter().enumerate().skip(1).take(6) {
            // The first half is delivered before the rest is sent.
            if number == 4 {
                stage.trial.wait_for("notifications are delivered", PATIENCE, || {
                    Ok(stage.receiver.delivered().len() == 3)
                })?;
                stage.receiver.refuse(true);
            }
            let body = Body::Json(json!({"loadId": id, "driverId": format!("driver-{number}")}));
            let sent = stage.send(LOGISTICS, ("POST", "/v1/loads/send-to-driver"), Some(OWN), &body)?;
            let sent = sent.json["id"].as_str().context("a notification has no id")?.to_owned();
            if number < 4 { self.delivered.push(sent) } else { self.pending.push(sent) }
        }
        let first = format!("/v1/loads/{}/notifications", ids[1]);
        stage.trial.wait_for("the delivery is recorded", PATIENCE, || {
            let log = stage.services[LOGISTICS].get(&first, &stage.token(Some(OWN)))?;
            Ok(log.json[0]["status"] == "delivered")
        })?;
        self.ask(stage, LOGISTICS, &first, Some(OWN))?;
        for id in &ids {
            self.ask(stage, LOGISTICS, &format!("/v1/loads/{id}"), Some(OWN))?;
        }
        for more in [
            "&limit=100&count=true",
            "&format=CSV",
            "&query=nown-1",
            "&query=KNOWN-7&count=true",
            "&f:status=completed",
        ] {
            self.ask(stage, LOGISTICS, &format!("{all}{more}"), Some(OWN))?;
        }
        Ok(())
    }

    /// Listings with files; drafts, one published, one closed; reported, wished for.
    fn listings(&mut self, stage: &Stage<'_>, files: &[String]) -> Result<()> {
        for number in 0..EACH {
            let files = json!([{"id": files[number % files.len()]}]);
            let mut body = listing(&format!("KNOWN-{number}"), &files);
            if let (Body::Json(body), true) = (&mut body, number < 3) {
                body["isDraft"] = json!(true);
            }
            let id = self.make(stage, LIVESTOCK, "/v1/listings/sheep", body)?;
            self.listings.push(id);
        }
        let [draft, closed, wished] =
            [0, 3, 4].map(|number| format!("/v1/listings/{}", self.listings[number]));
        let steps = [
            ("POST", format!("{draft}/publish"), OWN, Body::Empty),
            ("POST", format!("{closed}/close"), OWN, Body::Json(json!({"status": "sold"}))),
            ("PUT", format!("{wished}/wishlist"), OWN, Body::Empty),
            (
                "POST",
                format!("{wished}/report"),
                OTHER,
                Body::Json(json!({"reason": "other", "message": "?"})),
            ),
        ];
        for (method, path, who, body) in steps {
            stage.send(LIVESTOCK, (method, &path), Some(who), &body)?;
        }
        for path in [&draft, &closed, &wished] {
            self.ask(stage, LIVESTOCK, &format!("{path}/events"), None)?;
        }
        self.ask(stage, LIVESTOCK, &format!("{wished}/reports"), None)?;
        for id in self.listings.clone() {
            self.ask(stage, LIVESTOCK, &format!("/v1/listings/{id}"), Some(OWN))?;
        }
        let all = format!("/v1/listings?f:organisationId={OWN}");
        for more in [
            "&limit=100&count=true",
            "&format=CSV",
            "&docs=false",
            "&isWishlisted=true",
            "&f:status=draft",
            "&f:commodityBreed=Texel",
        ] {
            self.ask(stage, LIVESTOCK, &format!("{all}{more}"), Some(OWN))?;
        }
        self.listings.drain(..5);
        Ok(())
    }

    /// Makes something under a key, and gives its id.
    fn make(&mut self, stage: &Stage<'_>, service: usize, path: &'static str, body: Body) -> Result<String> {
        let key = format!("key-{}", self.keyed.len());
        let answer = self.post(stage, service, path, &body, &key)?;
        let id = answer.json["id"].as_str().with_context(|| format!("{path}: {}", answer.json))?.to_owned();
        self.keyed.push(Keyed { service, path, body, key, id: id.clone() });
        Ok(id)
    }

    fn post(&self, stage: &Stage<'_>, service: usize, path: &str, body: &Body, key: &str) -> Result<Answer> {
        let (url, token) = (stage.services[service].url(path), stage.token(Some(OWN)));
        self.client.send_with("POST", &url, Some(&token), &[("idempotency-key", key)], body)
    }

    /// Asks, and remembers what is answered.
    fn ask(&mut self, stage: &Stage<'_>, service: usize, path: &str, who: Who) -> Result<()> {
        let mut asked = Asked { service, path: path.to_owned(), who, answer: Default::default() };
        asked.answer = self.answer(stage, &asked)?;
        self.asked.push(asked);
        Ok(())
    }

    fn answer(&self, stage: &Stage<'_>, asked: &Asked) -> Result<(u16, String, Vec<u8>)> {
        let (url, token) = (stage.services[asked.service].url(&asked.path), stage.token(asked.who));
        let answer = self.client.send("GET", &url, Some(&token), &Body::Empty)?;
        // A refusal names its request.
        let total = answer.header("x-total-count").to_owned();
        let bytes = if answer.status < 300 { answer.bytes } else { Vec::new() };
        Ok((answer.status, total, bytes))
    }

    /// How many questions are answered as they were, to the byte.
    pub fn compare(&self, stage: &Stage<'_>) -> Result<usize> {
        for asked in &self.asked {
            let (was, is) = (&asked.answer, self.answer(stage, asked)?);
            let said = |(status, count, bytes): &(u16, String, Vec<u8>)| {
                format!("{status} {count} {}", String::from_utf8_lossy(&bytes[..bytes.len().min(600)]))
            };
            ensure!(*was == is, "GET {} was {} and is {}", asked.path, said(was), said(&is));
        }
        Ok(self.asked.len())
    }

    /// How many writes under a key are replayed, and not done again.
    pub fn repeat(&self, stage: &Stage<'_>) -> Result<usize> {
        for Keyed { service, path, body, key, id } in &self.keyed {
            let answer = self.post(stage, *service, path, body, key)?;
            let replayed =
                answer.header("idempotency-replayed") == "true" && answer.json["id"] == id.as_str();
            ensure!(
                replayed,
                "{path} under {key} was answered {} {}, not with {id} again",
                answer.status,
                answer.json
            );
        }
        Ok(self.keyed.len())
    }

    /// Writes after the restore: each is found, counted and told, and nothing else has changed.
    pub fn grow(&self, stage: &Stage<'_>) -> Result<()> {
        let total = |service, path: &str| {
            let answer = stage.send(service, ("GET", path), Some(OWN), &Body::Empty)?;
            let count = answer.header("x-total-count").parse::<u64>().ok();
            count.or(answer.json["total"].as_u64()).with_context(|| format!("{path} counts nothing"))
        };
        let (loads, listings, facets) = (
            format!("/v1/loads?f:organiserId={OWN}&count=true"),
            format!("/v1/listings?f:organisationId={OWN}&f:status=active-selling&count=true"),
            format!("/v1/listings?f:organisationId={OWN}&f:status=active-selling&docs=false"),
        );
        let counts = || {
            Ok::<_, anyhow::Error>([
                total(LOGISTICS, &loads)?,
                total(LIVESTOCK, &listings)?,
                total(LIVESTOCK, &facets)?,
            ])
        };
        let before = counts()?;
        let id = |answer: Answer| answer.json["id"].as_str().map(str::to_owned).context("no id was given");
        let made =
            |service, path: &str, body: Body| id(stage.send(service, ("POST", path), Some(OWN), &body)?);
        let file = made(SYSTEM, "/v1/files", file("after".into(), b"after\n".to_vec()))?;
        let refers = json!([{"id": file}]);
        let load = made(LOGISTICS, "/v1/loads/organiser", load(OWN, "AFTERWARDS", &refers))?;
        let found =
            stage.send(LOGISTICS, ("GET", "/v1/loads?query=afterward"), Some(OWN), &Body::Empty)?.json;
        ensure!(
            found[0]["id"] == load.as_str() && found.as_array().map(Vec::len) == Some(1),
            "a new load is not found: {found}"
        );
        let bytes = stage.send(SYSTEM, ("GET", &format!("/v1/files/{file}")), Some(OWN), &Body::Empty)?.bytes;
        ensure!(bytes == b"after\n", "a new file is not what was uploaded");
        // Two come and one goes.
        let new = [0, 1].map(|number| {
            made(LIVESTOCK, "/v1/listings/sheep", listing(&format!("AFTER-{number}"), &refers))
        });
        let [_, last] = new;
        let last = last?;
        let close = format!("/v1/listings/{}/close", self.listings[0]);
        stage.send(LIVESTOCK, ("POST", &close), Some(OWN), &Body::Json(json!({"status": "cancelled"})))?;
        let after = counts()?;
        ensure!(after == [before[0] + 1, before[1] + 1, before[2] + 1], "{before:?} became {after:?}");
        let page = stage.send(LIVESTOCK, ("GET", &listings), Some(OWN), &Body::Empty)?.json;
        ensure!(page[0]["id"] == last.as_str(), "the newest listing is not the first");
        for (listing, states) in [(&last, &["active"][..]), (&self.listings[0], &["active", "cancelled"])] {
            let events = stage.send(
                LIVESTOCK,
                ("GET", &format!("/v1/listings/{listing}/events")),
                None,
                &Body::Empty,
            )?;
            let told: Vec<_> =
                events.json.as_array().into_iter().flatten().map(|event| &event["to"]).collect();
            ensure!(
                told == states
                    .iter()
                    .map(|state| json!(state))
                    .collect::<Vec<Value>>()
                    .iter()
                    .collect::<Vec<_>>(),
                "{listing} has the events {told:?}"
            );
        }
        Ok(())
    }
}
