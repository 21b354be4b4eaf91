//! Compares random sequences of edits, cancellations, proofs, corrections, sends and revocations by four parties with a
//! plain model, history and revision included. `HISTORY_SEQUENCES` sets the number of sequences.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

const STEPS: usize = 12;

/// The parts of a load that the sequences change.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    status: String,
    carrier: Option<String>,
    ticket: Option<String>,
    weight: Option<f64>,
    net: Option<f64>,
    original: Option<(f64, String)>,
    drivers: Vec<String>,
    /// Types of events and the users who caused them.
    events: Vec<(String, String)>,
    revision: i64,
}

/// Who acts: the organiser and creator, the carrier, a driver, or a stranger.
const USERS: [&str; 4] = ["grain", "haul", "dai", "mill"];

fn user(name: &str) -> User {
    if name == "dai" { User::individual("dai") } else { User::of(name) }
}

impl Model {
    fn new() -> Self {
        let created = ("created".to_owned(), "grain".to_owned());
        Self {
            status: "upcoming".into(),
            weight: Some(29.4),
            events: vec![created],
            revision: 1,
            ..Self::default()
        }
    }

    fn is_party(&self, by: &str) -> bool {
        by == "grain" || self.carrier.as_deref() == Some(by)
    }

    fn record(&mut self, event: &str, by: &str) {
        self.events.push((event.to_owned(), by.to_owned()));
        if !event.starts_with("sent_") {
            self.revision += 1;
        }
    }

    fn edit(&mut self, by: &str, members: &Value) -> u16 {
        let is_office = members.get("weight").is_some() || members.get("carrierId").is_some();
        if !self.is_party(by) || (by != "grain" && is_office) {
            return 403;
        }
        if self.status != "upcoming" {
            return 409;
        }
        let before = self.clone();
        if let Some(ticket) = members.get("ticketNumber") {
            self.ticket = ticket.as_str().map(str::to_owned);
        }
        if let Some(weight) = members.get("weight") {
            self.weight = weight.as_f64();
        }
        if let Some(carrier) = members.get("carrierId") {
            self.carrier = carrier.as_str().map(str::to_owned);
        }
        if *self != before {
            self.record("updated", by);
        }
        200
    }

    fn cancel(&mut self, by: &str) -> u16 {
        match (by, &*self.status) {
            ("grain", "completed") => 409,
            ("grain", "cancelled") => 200,
            ("grain", _) => {
                self.status = "cancelled".into();
                self.record("cancelled", by);
                200
            }
            _ => 403,
        }
    }

    fn prove(&mut self, by: &str, net: f64, ticket: &str) -> u16 {
        if !self.is_party(by) && !self.drivers.iter().any(|driver| driver == by) {
            return 403;
        }
        let values = Some((net, ticket.to_owned()));
        if self.status == "completed" {
            let current = self.net.zip(self.ticket.clone());
            return if values == self.original || values == current { 200 } else { 409 };
        }
        if self.status != "upcoming" {
            return 409;
        }
        (self.net, self.ticket, self.original) = (Some(net), Some(ticket.to_owned()), values);
        self.status = "completed".into();
        self.record("completed", by);
        200
    }

    fn correct(&mut self, by: &str, net: f64) -> u16 {
        if !self.is_party(by) {
            return 403;
        }
        if self.status != "completed" {
            return 409;
        }
        if self.net != Some(net) {
            self.net = Some(net);
            self.record("corrected", by);
        }
        200
    }

    fn send(&mut self, by: &str, driver: Option<&str>, carrier: &str) -> u16 {
        if !self.is_party(by) {
            return 403;
        }
        if self.status != "upcoming" {
            return 409;
        }
        if let Some(driver) = driver {
            if !self.drivers.iter().any(|known| known == driver) {
                self.drivers.push(driver.to_owned());
            }
            self.record("sent_to_driver", by);
        } else {
            if self.carrier.as_deref().is_some_and(|present| present != carrier) {
                return 409;
            }
            self.carrier = Some(carrier.to_owned());
            self.record("sent_to_carrier", by);
        }
        200
    }

    fn revoke(&mut self, by: &str, driver: &str) -> u16 {
        if !self.is_party(by) {
            return 403;
        }
        let Some(index) = self.drivers.iter().position(|known| known == driver) else { return 404 };
        self.drivers.remove(index);
        self.record("driver_revoked", by);
        200
    }
}

/// Takes a random step in the service and in the model, and compares the outcome.
async fn step(app: &App, random: &mut StdRng, id: &str, model: &mut Model) {
    let by = USERS[random.random_range(0..USERS.len())];
    let caller = user(by);
    let driver = ["dai", "eve"][random.random_range(0..2)];
    let carrier = ["haul", "fast"][random.random_range(0..2)];
    let (net, ticket) = (f64::from(random.random_range(28..=29)), ["T-1", "T-2"][random.random_range(0..2)]);
    let path = format!("/v1/loads/{id}");
    let (expected, reply) = match random.random_range(0..12) {
        0..=3 => {
            let members = match random.random_range(0..4) {
                0 => json!({"ticketNumber": ticket}),
                1 => json!({"ticketNumber": null}),
                2 => json!({"weight": net}),
                _ => json!({ "carrierId": carrier }),
            };
            (model.edit(by, &members), patch(app, &caller, id, &members).await)
        }
        4 if random.random_bool(0.3) => (model.cancel(by), cancel(app, &caller, id).await),
        4 | 5 => {
            let form =
                json!({"weightNet": net, "ticketNumber": ticket, "vehicleRegistration": "V", "files": null});
            (model.prove(by, net, ticket), prove(app, &caller, id, &form).await)
        }
        6 => {
            let form = json!({"weightNet": net, "reason": "r"});
            let call = app.post(&format!("{path}/proof-of-delivery/corrections")).by(&caller).json(&form);
            (model.correct(by, net), call.send().await)
        }
        7 | 8 => {
            let form = json!({"loadId": id, "driverId": driver});
            let call = app.post("/v1/loads/send-to-driver").by(&caller).json(&form);
            (model.send(by, Some(driver), ""), call.send().await)
        }
        9 => {
            let call = app
                .post("/v1/loads/send-to-carrier")
                .by(&caller)
                .json(&json!({"loadId": id, "carrierId": carrier}));
            (model.send(by, None, carrier), call.send().await)
        }
        _ => {
            let call = app.call("DELETE", &format!("{path}/drivers/{driver}")).by(&caller);
            (model.revoke(by, driver), call.send().await)
        }
    };
    assert_eq!(reply.status, expected, "{by}: {} {model:?}", reply.text());
}

/// Compares the load, its drivers, its history and who may read it with the model.
async fn compare(app: &App, id: &str, model: &Model) {
    let path = format!("/v1/loads/{id}");
    let load = app.get(&path).by(&User::admin()).send().await.ok();
    let found = Model {
        status: load["status"].as_str().unwrap().to_owned(),
        carrier: load["carrier"]["id"].as_str().map(str::to_owned),
        ticket: load["ticketNumber"].as_str().map(str::to_owned),
        weight: load["weight"]["weight"].as_f64(),
        net: load["weightNet"]["weight"].as_f64(),
        original: model.original.clone(),
        drivers: app
            .get(&format!("{path}/drivers"))
            .by(&User::admin())
            .send()
            .await
            .ok()
            .as_array()
            .unwrap()
            .iter()
            .map(|driver| driver["driverId"].as_str().unwrap().to_owned())
            .collect(),
        events: events(app, id)
            .await
            .iter()
            .map(|event| {
                let by = event["organisationId"].as_str().or(event["userId"].as_str()).unwrap();
                (event["type"].as_str().unwrap().to_owned(), by.to_owned())
            })
            .collect(),
        revision: revision(app, id).await,
    };
    let sorted = |mut model: Model| {
        model.drivers.sort();
        model
    };
    assert_eq!(sorted(found), sorted(model.clone()));
    for name in USERS {
        let may_read = model.is_party(name) || model.drivers.iter().any(|driver| driver == name);
        let status = app.get(&path).by(&user(name)).send().await.status;
        assert_eq!(status, if may_read { 200 } else { 403 }, "{name} {model:?}");
    }
    let is_found = app.get("/v1/loads?limit=100").by(&User::of("grain")).send().await.ok();
    let is_found = is_found.as_array().unwrap().iter().any(|found| found["id"] == id);
    assert_eq!(is_found, model.status != "cancelled");
}

testkit::on_both! {
    async fn random_sequences_agree_with_a_model(backend) {
        let app = app(backend).await;
        let sequences = std::env::var("HISTORY_SEQUENCES").map_or(40, |number| number.parse().unwrap());
        let random = &mut StdRng::seed_from_u64(11);
        for _ in 0..sequences {
            let load = app.post("/v1/loads/organiser").by(&User::of("grain")).json(&organiser_form()).send().await.ok();
            let (id, mut model) = (load["id"].as_str().unwrap(), Model::new());
            for _ in 0..STEPS {
                step(&app, random, id, &mut model).await;
            }
            compare(&app, id, &model).await;
        }
    }
}
