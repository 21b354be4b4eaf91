//! Compares random sequences of edits, cancellations, acceptances, collections, proofs, corrections, rejections,
//! reopenings, sends, revocations and notes with a plain model: the load, its drivers, its revision, its whole history,
//! the notes and the feed that each of the actors reads, and the deliveries to the webhooks of each. The organiser, two
//! carriers, of which one may have created the load, a driver, a stranger and an administrator take turns.

mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, IteratorRandom};
use rand::{RngExt, SeedableRng};
use serde_json::Map;

use super::*;
use model::{CAPTURED_AT, Model};

const STEPS: usize = 16;
const ORGANISER: &str = "grain";
/// The driver is a user without an organisation.
const USERS: [&str; 6] = [ORGANISER, "haul", "fast", "dai", "mill", "admin"];
/// Those who act: the parties most often, so that many steps succeed.
const ACTORS: [&str; 10] =
    [ORGANISER, ORGANISER, ORGANISER, "haul", "haul", "haul", "fast", "dai", "mill", "admin"];

fn user(name: &str) -> User {
    match name {
        "dai" => User::individual("dai"),
        "admin" => User::admin(),
        organisation => User::of(organisation),
    }
}

/// Returns the name of an organisation in its tokens, which takes precedence because it has called the service.
fn organisation_name(organisation: &Value) -> Value {
    user(organisation.as_str().unwrap()).claims["orgName"].clone()
}

/// Creates a load as `grain`, or as `haul` for `grain`. Returns its id and model.
async fn create(app: &App, random: &mut StdRng) -> (String, Model) {
    let creator = ["grain", "haul"].choose(random).copied().unwrap();
    let (path, form) =
        if creator == "grain" { ("organiser", organiser_form()) } else { ("carrier", carrier_form()) };
    let form = with(form, "weight", json!(29));
    let load = app.post(&format!("/v1/loads/{path}")).by(&user(creator)).json(&form).send().await.ok();
    let mut model = Model { status: "upcoming".into(), creator: creator.into(), ..Model::default() };
    for (name, value) in
        [("reference", &form["reference"]), ("tags", &form["tags"]), ("weight", &form["weight"])]
    {
        model.members.insert(name.to_owned(), value.clone());
    }
    if creator == "haul" {
        model.awaits_acceptance = true;
        model.set("carrierId", &json!("haul"));
        model.members.insert("carrierName".into(), organisation_name(&json!("haul")));
    }
    model.record("created", creator, &Value::Null, Map::new());
    (load["id"].as_str().unwrap().to_owned(), model)
}

/// Returns a random patch.
fn members(random: &mut StdRng) -> Value {
    let mut members = Map::new();
    for _ in 0..random.random_range(1..=2) {
        let (name, values) = [
            ("ticketNumber", vec![json!("T-1"), json!("T-2"), json!(null)]),
            ("vehicleRegistration", vec![json!("V"), json!("W"), json!(null)]),
            ("weightNet", vec![json!(28), json!(29), json!(null)]),
            ("weight", vec![json!(28), json!(29), json!(null)]),
            ("reference", vec![json!("A"), json!("B")]),
            ("tags", vec![json!([]), json!(["a"]), json!(["a", "b"])]),
            ("pickupPostcode", vec![json!("HR4 9AR"), json!(null)]),
            ("carrierId", vec![json!("haul"), json!("fast"), json!(null)]),
        ]
        .choose(random)
        .unwrap()
        .clone();
        let value = values.choose(random).unwrap().clone();
        if name == "carrierId" && !value.is_null() && random.random_bool(0.3) {
            members.insert("carrierName".into(), json!("Carriers & Sons"));
        }
        if name == "carrierId" && value.is_null() {
            members.remove("carrierName");
        }
        members.insert(name.into(), value);
    }
    members.into()
}

/// Returns random values of a proof, some of which contradict each other.
fn proof(random: &mut StdRng) -> Value {
    let gross = [json!(null), json!(44)].choose(random).cloned();
    let tare = [json!(null), json!(15), json!(16)].choose(random).cloned();
    let (net, ticket) = (random.random_range(28..=29), *["T-1", "T-2"].choose(random).unwrap());
    json!({
        "weightNet": net, "weightGross": gross, "weightTare": tare, "ticketNumber": ticket,
        "vehicleRegistration": "V", "files": null, "capturedAtUTC": CAPTURED_AT,
    })
}

/// Returns a random collection.
fn collection(random: &mut StdRng) -> Value {
    let net = [json!(null), json!(28), json!(29)].choose(random).cloned();
    let quality = [json!(null), json!([{"measure": "moisture", "value": 14.5}])].choose(random).cloned();
    json!({"weightNet": net, "ticketNumber": "C-1", "quality": quality, "capturedAtUTC": CAPTURED_AT})
}

/// Returns a random rejection.
fn rejection(random: &mut StdRng) -> Value {
    let note = [json!(null), json!("wet")].choose(random).cloned();
    json!({"reason": "quality", "note": note, "capturedAtUTC": CAPTURED_AT})
}

/// Takes a random step in the service and in the model, and compares the outcome.
async fn step(app: &App, random: &mut StdRng, id: &str, model: &mut Model) {
    let by = *ACTORS.choose(random).unwrap();
    let caller = user(by);
    let driver = *["dai", "eve"].choose(random).unwrap();
    let carrier = *["haul", "fast"].choose(random).unwrap();
    let reason = [json!(null), json!("because"), json!("by phone")].choose(random).unwrap().clone();
    let path = format!("/v1/loads/{id}");
    let (expected, call) = match random.random_range(0..23) {
        0..=4 => {
            let (members, known) = (members(random), random.random_bool(0.3));
            let known = known.then(|| model.revision - i64::from(random.random_range(0..2)));
            let call = app.call("PATCH", &path).json(&members);
            let call = match known {
                Some(known) => call.header("if-match", &format!("\"{known}\"")),
                None => call,
            };
            (model.edit(by, &members, known), call)
        }
        5 if random.random_bool(0.6) => (
            model.cancel(by, &reason),
            app.post(&format!("{path}/cancel")).json(&json!({ "reason": reason })),
        ),
        5 | 6 => (model.accept(by), app.post(&format!("{path}/accept"))),
        7 | 8 => {
            let form = proof(random);
            let status = model.prove(by, &without(form.clone(), "capturedAtUTC"));
            if random.random() {
                (status, app.post("/v1/loads/proof-of-delivery").json(&with(form, "loadId", json!(id))))
            } else {
                (status, app.post(&format!("{path}/proof-of-delivery")).json(&form))
            }
        }
        9..=11 => {
            let mut form = proof(random);
            for name in ["weightNet", "weightGross", "weightTare", "ticketNumber", "vehicleRegistration"] {
                if random.random_bool(0.6) {
                    form[name] = Value::Null;
                }
            }
            form = without(form.clone(), "capturedAtUTC");
            form["reason"] = if reason.is_null() { json!("misread") } else { reason };
            (model.correct(by, &form), app.post(&format!("{path}/proof-of-delivery/corrections")).json(&form))
        }
        16 | 17 => {
            let form = collection(random);
            let status = model.record_document(by, "collection", &form);
            (status, app.post(&format!("{path}/collection")).json(&form))
        }
        18 => {
            let form = rejection(random);
            let status = model.record_document(by, "rejection", &form);
            (status, app.post(&format!("{path}/rejection")).json(&form))
        }
        19..=21 => {
            let form = json!({"reason": "a mistake"});
            (model.reopen(by, "a mistake"), app.post(&format!("{path}/reopen")).json(&form))
        }
        22 => {
            let text = format!("note {}", model.events.len());
            (model.note(by, &text), app.post(&format!("{path}/notes")).json(&json!({ "text": text })))
        }
        12 | 13 => {
            let form = json!({"loadId": id, "driverId": driver});
            // Drivers read notes by their time, which has milliseconds.
            tokio::time::sleep(Duration::from_millis(2)).await;
            (model.send_to_driver(by, driver), app.post("/v1/loads/send-to-driver").json(&form))
        }
        14 => {
            let form = json!({"loadId": id, "carrierId": carrier});
            (model.send_to_carrier(by, carrier), app.post("/v1/loads/send-to-carrier").json(&form))
        }
        _ => (model.revoke(by, driver), app.call("DELETE", &format!("{path}/drivers/{driver}"))),
    };
    let reply = call.by(&caller).send().await;
    assert_eq!(reply.status, expected, "{by}: {} {model:#?}", reply.text());
    if expected == 200 && !reply.header("etag").is_empty() {
        assert_eq!(tag(&reply), model.revision, "{by}: {} {model:#?}", reply.text());
    }
}

/// Returns the members of a load by their names in requests.
fn members_of(load: &Value) -> Map<String, Value> {
    let mut found = Map::new();
    for name in ["weight", "weightNet", "weightGross", "weightTare"] {
        found.extend(load.get(name).map(|measure| (name.to_owned(), measure["weight"].clone())));
    }
    for name in [
        "collection",
        "rejection",
        "reference",
        "tags",
        "ticketNumber",
        "vehicleRegistration",
        "pickupPostcode",
    ] {
        found.extend(load.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    for (name, member) in [("carrierId", "id"), ("carrierName", "name")] {
        found.extend(load.get("carrier").map(|carrier| (name.to_owned(), carrier[member].clone())));
    }
    found
}

/// Compares the load, its drivers, its history and who may read it with the model.
async fn compare(app: &App, id: &str, model: &Model) {
    let path = format!("/v1/loads/{id}");
    let admin = User::admin();
    let load = app.get(&path).by(&admin).send().await.ok();
    let drivers = app.get(&format!("{path}/drivers")).by(&admin).send().await.ok();
    let drivers =
        drivers.as_array().unwrap().iter().map(|driver| driver["driverId"].as_str().unwrap().to_owned());
    let mut history = events(app, id).await;
    let times: Vec<_> = history.iter().map(|event| event["atUTC"].as_str().unwrap().to_owned()).collect();
    assert!(times.is_sorted() && load["createdAtUTC"] == times[0], "{times:?}");
    let mut event_ids = BTreeSet::new();
    for event in &mut history {
        let event = event.as_object_mut().unwrap();
        let id = event.remove("id").unwrap();
        assert_eq!(&id.as_str().unwrap()[14..15], "7", "a UUIDv7");
        assert!(event_ids.insert(id.to_string()), "{id} occurs twice");
        event.remove("atUTC");
    }
    let found = Model {
        status: load["status"].as_str().unwrap().to_owned(),
        creator: load["createdBy"]["organisationId"].as_str().unwrap().to_owned(),
        members: members_of(&load),
        drivers: drivers.collect(),
        events: history,
        revision: revision(app, id).await,
        ..model.clone()
    };
    assert_eq!(found, *model);
    for name in USERS {
        let status = app.get(&path).by(&user(name)).send().await.status;
        assert_eq!(status, if model.may_read(name) { 200 } else { 403 }, "{name} {model:#?}");
    }
    for name in USERS {
        let listed = app.get(&format!("{path}/events?f:type=noted&limit=100")).by(&user(name)).send().await;
        let found = (listed.status == 200).then(|| listed.ok().as_array().unwrap().clone());
        let texts = found.map(|notes| notes.iter().map(|note| note["text"].clone()).collect::<Vec<_>>());
        assert_eq!(texts, model.notes_of(name), "{name} {model:#?}");
    }
    let is_shown = model.status != "cancelled";
    let of_driver = (is_shown && model.drivers.contains("dai"), "/v1/loads?limit=100&f:driverId=me", "dai");
    for (is_found, search, by) in [(is_shown, "/v1/loads?limit=100", ORGANISER), of_driver] {
        let loads = app.get(search).by(&user(by)).send().await.ok();
        assert_eq!(
            loads.as_array().unwrap().iter().any(|load| load["id"] == id),
            is_found,
            "{search} {model:#?}"
        );
    }
}

/// All events that webhooks can subscribe to.
const EVENTS: [&str; 14] = [
    "load.created",
    "load.updated",
    "load.cancelled",
    "load.collected",
    "load.rejected",
    "load.reopened",
    "load.completed",
    "load.corrected",
    "load.accepted",
    "load.sent_to_driver",
    "load.sent_to_carrier",
    "load.driver_revoked",
    "load.noted",
    "load.released",
];

/// What followers of loads have read so far.
struct Followers {
    /// Where the feed goes on.
    cursor: String,
    /// The path of the webhook of each organisation and of `admin`, and its newest delivery.
    webhooks: Vec<(&'static str, String, Value)>,
}

impl Followers {
    /// Registers a webhook of each organisation for its events, and one of `admin` for the events of all.
    async fn start(app: &App) -> Self {
        let mut webhooks = Vec::new();
        for name in USERS.into_iter().filter(|name| *name != "dai") {
            let scope = if name == "admin" { "all" } else { "own" };
            let form = json!({"url": "http://127.0.0.1:9/", "events": EVENTS, "scope": scope});
            let webhook = app.post("/v1/webhooks").by(&user(name)).json(&form).send().await.ok();
            let path = format!("/v1/webhooks/{}/deliveries", webhook["id"].as_str().unwrap());
            webhooks.push((name, path, Value::Null));
        }
        let end = app.get("/v1/events?after=now").by(&User::admin()).send().await.ok();
        Self { cursor: end["cursor"].as_str().unwrap().to_owned(), webhooks }
    }

    /// Compares the events of a load in the feed of each actor, and the deliveries to each webhook, with the model.
    async fn compare(&mut self, app: &App, random: &mut StdRng, id: &str, model: &Model) {
        let read = async |by: &str| {
            let driver = if by == "dai" { "&f:driverId=me" } else { "" };
            let path = format!("/v1/events?limit=500&after={}{driver}", self.cursor);
            app.get(&path).by(&user(by)).send().await.ok()
        };
        let listed = |page: &Value| -> Vec<(String, i64)> {
            let events = page["events"].as_array().unwrap().iter();
            let event = |event: &Value| {
                assert_eq!(event["loadId"], id);
                (event["type"].as_str().unwrap().to_owned(), event["revision"].as_i64().unwrap())
            };
            events.map(event).collect()
        };
        // Transactions of other tests on the same server delay events.
        let expected = model.feed_of("admin").len();
        testkit::wait_until(async || listed(&read("admin").await).len() >= expected).await;
        for name in USERS {
            assert_eq!(listed(&read(name).await), model.feed_of(name), "feed of {name} {model:#?}");
        }
        let cursor = read("admin").await["cursor"].take();
        cursor.as_str().unwrap().clone_into(&mut self.cursor);
        for (name, path, newest) in &mut self.webhooks {
            let all = app.get(&format!("{path}?limit=100")).by(&User::admin()).send().await.entries();
            let mut new: Vec<_> = all.into_iter().take_while(|delivery| delivery["id"] != *newest).collect();
            *newest = new.first().map_or(newest.take(), |delivery| delivery["id"].clone());
            new.reverse();
            let expected = model.deliveries_to(name);
            let types: Vec<_> = new.iter().map(|delivery| delivery["event"].as_str().unwrap()).collect();
            let expected_types: Vec<_> = expected.iter().map(|(kind, _)| kind.as_str()).collect();
            assert_eq!(types, expected_types, "webhook of {name} {model:#?}");
            if let Some(((_, revision), delivery)) = expected.iter().zip(&new).choose(random) {
                let path = format!("{path}/{}", delivery["id"].as_str().unwrap());
                let body = app.get(&path).by(&User::admin()).send().await.ok()["body"].take();
                let load = &body["data"]["load"];
                assert_eq!((&body["type"], &load["id"]), (&delivery["event"], &json!(id)));
                let shown = load.get("revision").and_then(Value::as_i64);
                assert!(shown.is_none_or(|shown| shown == *revision), "{name}: {body} {model:#?}");
            }
        }
    }
}

testkit::on_both! {
    async fn random_sequences_agree_with_a_model(backend) {
        let app = app_with_pending_notifications(backend).await;
        let sequences = testkit::model_sequences(40);
        let random = &mut StdRng::seed_from_u64(11);
        let (mut types, mut followers) = (BTreeMap::<String, usize>::new(), Followers::start(&app).await);
        for name in USERS {
            app.get("/v1/loads").by(&user(name)).send().await.ok();
        }
        for number in 0..sequences {
            if number % 50 == 0 {
                // The limits of what a user and an organisation may do in a period.
                app.database.execute("DELETE FROM user_notes");
                app.database.execute("DELETE FROM driver_sendings");
            }
            let (id, mut model) = create(&app, random).await;
            for _ in 0..STEPS {
                step(&app, random, &id, &mut model).await;
            }
            compare(&app, &id, &model).await;
            followers.compare(&app, random, &id, &model).await;
            for told in &model.told {
                *types.entry(told.kind.clone()).or_default() += 1;
            }
        }
        println!("{sequences} sequences on {backend:?}: {types:?}");
        assert!(types.keys().eq(BTreeSet::from(EVENTS)), "each type of event occurs: {types:?}");
    }
}
