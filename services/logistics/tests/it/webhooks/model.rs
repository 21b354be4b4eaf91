//! Compares random sequences of creating, editing, disabling, rotating and deleting webhooks, while loads change, with
//! a plain model: the response to each step, which webhooks each caller finds, and which events reach the receiver with
//! which signatures. A receiver that is gone (410) disables its webhook.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use testkit::webhook_signature;

use super::*;

const STEPS: usize = 20;
const EVENTS: [&str; 3] = ["load.created", "load.updated", "load.cancelled"];
/// Users of the organiser and the carrier of the loads, of another organisation, of none, and an administrator.
const ACTORS: [&str; 8] = ["grain", "grain", "grain", "haul", "haul", "mill", "alone", "admin"];

#[derive(Debug)]
struct Webhook {
    /// What reading it returns.
    shown: Value,
    /// The actor whose organisation it belongs to; `admin` has none.
    owner: &'static str,
    /// The secrets that sign, the newest first.
    secrets: Vec<String>,
    /// The scope is or ever was `all`.
    is_admin_only: bool,
    is_deleted: bool,
    /// Oldest first.
    deliveries: Vec<Delivery>,
}

#[derive(Debug)]
struct Delivery {
    event: &'static str,
    load: String,
    revision: i64,
    status: &'static str,
    secrets: Vec<String>,
}

impl Webhook {
    fn is_of_all(&self) -> bool {
        self.shown["scope"] == "all"
    }

    fn is_gone(&self) -> bool {
        self.shown["url"].as_str().unwrap().ends_with("gone")
    }

    /// Returns the status of an operation by an actor.
    fn status(&self, actor: &str) -> u16 {
        match actor {
            "alone" => 403,
            _ if self.is_deleted => 404,
            "admin" => 200,
            _ if actor == self.owner && !self.is_admin_only => 200,
            _ => 403,
        }
    }
}

/// A load, its organiser's and its carrier's actors, and its revision.
#[derive(Debug)]
struct Load {
    id: String,
    parties: &'static [&'static str],
    revision: i64,
}

struct Model<'a> {
    app: &'a App,
    receiver: WebhookReceiver,
    /// Organisations have names of their own in each sequence.
    number: usize,
    webhooks: Vec<Webhook>,
    loads: Vec<Load>,
    log: Vec<String>,
}

impl Model<'_> {
    fn organisation(&self, actor: &str) -> String {
        format!("{actor}-{}", self.number)
    }

    fn user(&self, actor: &str) -> User {
        match actor {
            "admin" => User::admin(),
            "alone" => User::individual("alone"),
            member => User::of(&self.organisation(member)),
        }
    }

    async fn step(&mut self, random: &mut StdRng) {
        let actor = *ACTORS.choose(random).unwrap();
        let webhook = (0..self.webhooks.len()).collect::<Vec<_>>().choose(random).copied();
        match (random.random_range(0..20), webhook) {
            (0..=2, _) | (_, None) => self.create(random, actor).await,
            (3..=13, _) => self.change_load(random).await,
            (14..=17, Some(n)) => self.patch(random, actor, n).await,
            (18, Some(n)) => self.rotate(actor, n).await,
            (_, Some(n)) => self.delete(actor, n).await,
        }
    }

    async fn create(&mut self, random: &mut StdRng, actor: &'static str) {
        let scope = if random.random_bool(0.3) { "all" } else { "own" };
        let url = if random.random_bool(0.15) { self.receiver.url() + "?gone" } else { self.receiver.url() };
        let events: Vec<_> = EVENTS.into_iter().filter(|_| random.random_bool(0.7)).collect();
        let events = if events.is_empty() { EVENTS.to_vec() } else { events };
        let form = json!({"url": url, "events": events, "scope": scope});
        self.log.push(format!("{actor} creates {form}"));
        let created = self.app.post("/v1/webhooks").by(&self.user(actor)).json(&form).send().await;
        let may = if scope == "all" { actor == "admin" } else { !["admin", "alone"].contains(&actor) };
        assert_eq!(created.status, if may { 200 } else { 403 }, "{:#?}", self.log);
        if may {
            let shown = created.json();
            let secrets = vec![shown["secret"].as_str().unwrap().to_owned()];
            let shown = without(shown, "secret");
            for (name, value) in form.as_object().unwrap() {
                assert_eq!(shown[name], *value, "{:#?}", self.log);
            }
            self.webhooks.push(Webhook {
                shown,
                owner: actor,
                secrets,
                is_admin_only: scope == "all",
                is_deleted: false,
                deliveries: Vec::new(),
            });
        }
    }

    async fn patch(&mut self, random: &mut StdRng, actor: &str, n: usize) {
        self.settle().await;
        let receiver = self.receiver.url();
        let values = [
            ("events", json!(["load.updated"])),
            ("events", json!(EVENTS)),
            ("status", json!("disabled")),
            ("status", json!("active")),
            ("url", json!(receiver.clone() + "?gone")),
            ("url", json!(receiver)),
            ("description", json!(format!("step {}", self.log.len()))),
            ("scope", json!("all")),
            ("scope", json!("own")),
        ];
        let (name, value) = values.choose(random).unwrap().clone();
        let webhook = &mut self.webhooks[n];
        let revision = webhook.shown["revision"].as_i64().unwrap();
        let is_stale = random.random_bool(0.1);
        let known = if is_stale { revision + 1 } else { revision };
        let becomes_all = name == "scope" && value == "all";
        let needs_all = name == "scope" && value == "own" && webhook.owner == "admin";
        let status = match webhook.status(actor) {
            // Checked before the webhook is read.
            _ if becomes_all && actor != "admin" => 403,
            200 if is_stale => 412,
            200 if needs_all => 400,
            other => other,
        };
        self.log.push(format!("{actor} patches {n}: {name} {value}, knows {known}, {status}"));
        let path = path(&webhook.shown);
        let user = self.user(actor);
        let call = self.app.call("PATCH", &path).by(&user).header("if-match", &format!("\"{known}\""));
        let reply = call.json(&json!({ (name): value })).send().await;
        assert_eq!(reply.status, status, "{} {:#?}", reply.text(), self.log);
        self.webhooks[n].is_admin_only |= status == 200 && becomes_all;
        let shown = &mut self.webhooks[n].shown;
        if status == 200 && shown[name] != value {
            shown[name] = value;
            shown["revision"] = json!(revision + 1);
            shown["updatedAtUTC"] = reply.json()["updatedAtUTC"].clone();
            if name == "status" {
                shown.as_object_mut().unwrap().remove("disabledReason");
            }
        }
        if status == 200 {
            assert_eq!(reply.json(), *shown, "{:#?}", self.log);
        }
    }

    async fn rotate(&mut self, actor: &str, n: usize) {
        self.settle().await;
        let (path, status) = (path(&self.webhooks[n].shown), self.webhooks[n].status(actor));
        self.log.push(format!("{actor} rotates {n}: {status}"));
        let reply = self.app.post(&format!("{path}/rotate-secret")).by(&self.user(actor)).send().await;
        assert_eq!(reply.status, status, "{:#?}", self.log);
        if status == 200 {
            let secrets = &mut self.webhooks[n].secrets;
            secrets.insert(0, reply.json()["secret"].as_str().unwrap().to_owned());
            secrets.truncate(2);
        }
    }

    async fn delete(&mut self, actor: &str, n: usize) {
        self.settle().await;
        let (path, status) = (path(&self.webhooks[n].shown), self.webhooks[n].status(actor));
        self.log.push(format!("{actor} deletes {n}: {status}"));
        let reply = self.app.call("DELETE", &path).by(&self.user(actor)).send().await;
        assert_eq!(reply.status, status, "{:#?}", self.log);
        self.webhooks[n].is_deleted |= status == 200;
    }

    /// Creates, edits or cancels a load.
    async fn change_load(&mut self, random: &mut StdRng) {
        let (organiser, carrier) = (self.organisation("grain"), self.organisation("haul"));
        let (event, n) = match random.random_range(0..5) {
            0..=2 if !self.loads.is_empty() => {
                let n = random.random_range(0..self.loads.len());
                let members = json!({"reference": format!("step {}", self.log.len())});
                patch(self.app, &self.user("grain"), &self.loads[n].id, &members).await.ok();
                ("load.updated", n)
            }
            3 if !self.loads.is_empty() => {
                let n = random.random_range(0..self.loads.len());
                cancel(self.app, &self.user("grain"), &self.loads[n].id).await.ok();
                ("load.cancelled", n)
            }
            kind => {
                let (path, by, form, parties): (_, _, _, &[&str]) = if kind == 0 {
                    let form = with(carrier_form(), "carrierId", json!(carrier));
                    ("carrier", "haul", with(form, "organisationId", json!(organiser)), &["grain", "haul"])
                } else {
                    (
                        "organiser",
                        "grain",
                        with(organiser_form(), "organiserId", json!(organiser)),
                        &["grain"],
                    )
                };
                let path = format!("/v1/loads/{path}");
                let load = self.app.post(&path).by(&self.user(by)).json(&form).send().await.ok();
                let id = load["id"].as_str().unwrap().to_owned();
                self.loads.push(Load { id, parties, revision: 0 });
                ("load.created", self.loads.len() - 1)
            }
        };
        self.log.push(format!("{event} of {n}"));
        let load = &mut self.loads[n];
        load.revision += 1;
        let is_of_load =
            |webhook: &&mut Webhook| webhook.is_of_all() || load.parties.contains(&webhook.owner);
        for webhook in self.webhooks.iter_mut().filter(is_of_load) {
            let is_subscribed = webhook.shown["events"].as_array().unwrap().contains(&json!(event));
            if webhook.is_deleted || webhook.shown["status"] != "active" || !is_subscribed {
                continue;
            }
            let status = if webhook.is_gone() { "failed" } else { "delivered" };
            let (load, revision, secrets) = (load.id.clone(), load.revision, webhook.secrets.clone());
            webhook.deliveries.push(Delivery { event, load, revision, status, secrets });
            if webhook.is_gone() {
                let mut shown = Value::Null;
                testkit::wait_until(async || {
                    shown = self.app.get(&path(&webhook.shown)).by(&User::admin()).send().await.ok();
                    shown["status"] == "disabled"
                })
                .await;
                let revision = webhook.shown["revision"].as_i64().unwrap() + 1;
                assert!(shown["disabledReason"].is_string() && shown["revision"] == revision, "{shown}");
                webhook.shown = shown;
            }
        }
        if event == "load.cancelled" {
            self.loads.remove(n);
        }
    }

    /// Waits until all deliveries of the webhooks have their outcome, and compares them.
    async fn settle(&self) {
        for webhook in self.webhooks.iter().filter(|webhook| !webhook.is_deleted) {
            let expected = webhook.deliveries.iter().rev();
            let expected: Vec<_> =
                expected.map(|expected| json!([expected.event, expected.load, expected.status])).collect();
            let mut found = Vec::new();
            let settled = async || {
                let listed = deliveries(self.app, &webhook.shown).await;
                found =
                    listed.iter().map(|one| json!([one["event"], one["loadId"], one["status"]])).collect();
                !found.iter().any(|delivery| delivery[2] == "pending")
            };
            testkit::wait_until(settled).await;
            assert_eq!(found, expected, "{:#?} {:#?}", webhook, self.log);
        }
    }

    /// Compares what each actor finds, and what the receiver got.
    async fn compare(&self) {
        self.settle().await;
        for actor in ["grain", "haul", "mill", "alone", "admin"] {
            for webhook in &self.webhooks {
                let found = self.app.get(&path(&webhook.shown)).by(&self.user(actor)).send().await;
                assert_eq!(found.status, webhook.status(actor), "{actor} {webhook:#?} {:#?}", self.log);
                assert!(found.status != 200 || found.json() == webhook.shown, "{webhook:#?} {:#?}", self.log);
            }
        }
        let mut received = BTreeMap::<String, Vec<Value>>::new();
        let mut ids = BTreeMap::new();
        for request in self.receiver.requests().await {
            let (body, mut signatures) =
                (body(&request), header(&request, "webhook-signature").split(' ').collect::<Vec<_>>());
            let webhook = self
                .webhooks
                .iter()
                .find(|w| w.shown["id"] == header(&request, "drover-webhook-id"))
                .unwrap();
            let (load, revision) =
                (body["data"]["load"]["id"].clone(), body["data"]["load"]["revision"].clone());
            let delivery = webhook.deliveries.iter().find(|one| {
                body["type"] == one.event && load == one.load.as_str() && revision == one.revision
            });
            let delivery = delivery.unwrap_or_else(|| panic!("{body} {webhook:#?} {:#?}", self.log));
            let expected = delivery.secrets.iter().map(|secret| webhook_signature(&request, secret));
            let mut expected = expected.collect::<Vec<_>>();
            signatures.sort_unstable();
            expected.sort_unstable();
            assert_eq!(signatures, expected, "{webhook:#?} {:#?}", self.log);
            // An event has the same id at each webhook.
            let id = ids.entry(json!([load, revision]).to_string()).or_insert_with(|| body["id"].clone());
            assert_eq!((&*id, header(&request, "webhook-id")), (&body["id"], id.as_str().unwrap()));
            received.entry(webhook.shown["id"].to_string()).or_default().push(json!([load, revision]));
        }
        for webhook in &self.webhooks {
            let mut received = received.remove(&webhook.shown["id"].to_string()).unwrap_or_default();
            let expected = webhook.deliveries.iter().map(|one| json!([one.load, one.revision]));
            let mut expected: Vec<_> = expected.collect();
            received.sort_by_key(Value::to_string);
            expected.sort_by_key(Value::to_string);
            assert_eq!(received, expected, "{webhook:#?} {:#?}", self.log);
            if !webhook.is_deleted {
                self.app.call("DELETE", &path(&webhook.shown)).by(&User::admin()).send().await.ok();
            }
        }
    }
}

testkit::on_both! {
    async fn random_sequences_agree_with_a_model(backend) {
        let app = start(backend).await;
        let random = &mut StdRng::seed_from_u64(20_261_130);
        let (sequences, mut webhooks, mut deliveries) = (testkit::model_sequences(15), 0, 0);
        for number in 0..sequences {
            let gone = |request: &Request| respond_with(if request.url.query().is_some() { 410 } else { 200 });
            let receiver = WebhookReceiver::start(gone).await;
            let (empty, log) = (Vec::new(), Vec::new());
            let mut model = Model { app: &app, receiver, number, webhooks: empty, loads: Vec::new(), log };
            for _ in 0..STEPS {
                model.step(random).await;
            }
            model.compare().await;
            webhooks += model.webhooks.len();
            deliveries += model.webhooks.iter().map(|webhook| webhook.deliveries.len()).sum::<usize>();
        }
        println!("{sequences} sequences on {backend:?}: {webhooks} webhooks, {deliveries} deliveries");
        assert!(webhooks > sequences && deliveries > sequences, "{webhooks} webhooks, {deliveries} deliveries");
    }
}
