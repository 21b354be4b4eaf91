//! A plain model of a load, its drivers and its history.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{ORGANISER, organisation_name, user};

/// A load as the documents describe it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    pub status: String,
    /// The organisation that created the load.
    pub creator: String,
    /// Members by their names in requests; those without a value are absent.
    pub members: Map<String, Value>,
    /// The proof as given, and as corrected.
    pub original: Option<Map<String, Value>>,
    pub current: Option<Map<String, Value>>,
    /// The members before the proof.
    pub before_proof: Map<String, Value>,
    pub drivers: BTreeSet<String>,
    /// The actors that sent the load to each driver, each with the index of the first event of it.
    pub senders: BTreeMap<String, BTreeMap<String, usize>>,
    /// The number of events when the load was last sent to each driver.
    pub sent: BTreeMap<String, usize>,
    /// The index of the event that gave the load its carrier.
    pub carrier_since: Option<usize>,
    /// Events and recipients of pending notifications.
    pub pending: BTreeSet<(&'static str, String)>,
    pub awaits_acceptance: bool,
    /// `{type, userId, userName, organisationId?, reason?, text?, changes?}`.
    pub events: Vec<Value>,
    /// The same events and those that the history lacks, and who is told of them.
    pub told: Vec<Told>,
    /// The text of each note, and the carrier then.
    pub notes: Vec<(String, Option<String>)>,
    /// All carriers that the load ever had.
    pub carriers: BTreeSet<String>,
    /// The number of notes when the load got its carrier, and when it was last sent to each driver.
    pub notes_before: BTreeMap<String, usize>,
    pub revision: i64,
}

/// An event as feeds and webhooks have it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub kind: String,
    pub revision: i64,
    /// The organisations whose feeds and webhooks have it.
    parties: BTreeSet<String>,
    /// The creator of the load, if it is no party: its feed has the event too.
    creator: Option<String>,
    /// The driver that it names, and whether it begins what the driver reads.
    driver: Option<(String, bool)>,
    /// False if feeds lack it.
    is_in_feed: bool,
    /// False if webhooks do not get it.
    is_reported: bool,
}

/// What the carrier may edit.
const OF_CARRIER: [&str; 3] = ["ticketNumber", "vehicleRegistration", "weightNet"];

/// Returns true if net, gross and tare weight agree, where all are known.
fn agree(proof: &Map<String, Value>) -> bool {
    let weight = |name: &str| proof.get(name).and_then(Value::as_i64);
    match (weight("weightNet"), weight("weightGross"), weight("weightTare")) {
        (Some(net), Some(gross), Some(tare)) => net == gross - tare,
        _ => true,
    }
}

fn without_nulls(members: &Value) -> Map<String, Value> {
    let members = members.as_object().unwrap().clone();
    members.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// When everything was captured.
pub(super) const CAPTURED_AT: &str = "2026-03-01T10:00:00.000Z";

/// Returns the collection or rejection that a load shows for a request.
fn document(form: &Value) -> Value {
    let mut document = without_nulls(form);
    let at = document.remove("capturedAtUTC").unwrap();
    if let Some(net) = document.get_mut("weightNet") {
        *net = json!({"name": "tonne", "conversion": 1000.0, "weight": net});
    }
    for entry in document.get_mut("quality").and_then(Value::as_array_mut).into_iter().flatten() {
        entry["unit"] = json!("%");
    }
    document.extend([("atUTC".to_owned(), at), ("files".to_owned(), json!([]))]);
    document.into()
}

impl Model {
    pub(super) fn carrier(&self) -> Option<&str> {
        self.members.get("carrierId").and_then(Value::as_str)
    }

    fn is_party(&self, by: &str) -> bool {
        by == "admin" || by == ORGANISER || self.carrier() == Some(by)
    }

    fn is_manager(&self, by: &str) -> bool {
        by == "admin" || by == ORGANISER || by == self.creator && self.carrier() == Some(by)
    }

    pub(super) fn may_read(&self, by: &str) -> bool {
        self.is_party(by) || by == self.creator || self.drivers.contains(by)
    }

    /// Adds an event with the differences from the state before.
    pub(super) fn record(&mut self, kind: &str, by: &str, reason: &Value, changes: Map<String, Value>) {
        let claims = user(by).claims;
        let mut event = json!({"type": kind, "userId": claims["sub"], "userName": claims["name"]});
        if let Some(organisation) = claims.get("org") {
            event["organisationId"] = organisation.clone();
        }
        if !reason.is_null() {
            event["reason"] = reason.clone();
        }
        if changes.contains_key("carrierId") {
            self.carrier_since = Some(self.events.len());
        }
        if !changes.is_empty() {
            event["changes"] = changes.into();
        }
        self.events.push(event);
        if !kind.starts_with("sent_") && kind != "noted" {
            self.revision += 1;
        }
        let change = &self.events.last().unwrap()["changes"]["driverId"];
        let named = |member: &str, begins| Some((change[member].as_str()?.to_owned(), begins));
        let driver = named("to", true).or(named("from", false));
        let parties = [Some(ORGANISER), self.carrier()].into_iter().flatten().map(str::to_owned).collect();
        self.tell(kind, parties, driver);
        let told = self.told.last_mut().unwrap();
        let is_reader = kind != "noted" && !told.parties.contains(&self.creator);
        told.creator = is_reader.then(|| self.creator.clone());
    }

    fn tell(&mut self, kind: &str, parties: BTreeSet<String>, driver: Option<(String, bool)>) {
        let (kind, revision) = (format!("load.{kind}"), self.revision);
        self.told.push(Told {
            kind,
            revision,
            parties,
            creator: None,
            driver,
            is_in_feed: true,
            is_reported: true,
        });
    }

    /// Returns the types and revisions of the events in the feed of an actor.
    pub(super) fn feed_of(&self, by: &str) -> Vec<(String, i64)> {
        let (mut is_reading, mut feed) = (false, Vec::new());
        for told in self.told.iter().filter(|told| told.is_in_feed) {
            let naming = told.driver.as_ref().filter(|(driver, _)| driver == by);
            is_reading = naming.map_or(is_reading, |(_, begins)| *begins);
            let is_of_driver = (is_reading || naming.is_some()) && told.kind != "load.released";
            let is_party = told.parties.contains(by) || told.creator.as_deref() == Some(by);
            if by == "admin" || is_party || is_of_driver {
                feed.push((told.kind.clone(), told.revision));
            }
        }
        feed
    }

    /// Returns the types and revisions of the events that the webhook of an organisation gets, or that of `admin` for
    /// the events of all.
    pub(super) fn deliveries_to(&self, owner: &str) -> Vec<(String, i64)> {
        let is_receiver =
            |told: &&Told| told.is_reported && (owner == "admin" || told.parties.contains(owner));
        self.told.iter().filter(is_receiver).map(|told| (told.kind.clone(), told.revision)).collect()
    }

    /// Returns the changed members since `before`.
    fn changes(&self, before: &Self) -> Map<String, Value> {
        let names: BTreeSet<_> = before.members.keys().chain(self.members.keys()).collect();
        let change = |name: &String| {
            let (from, to) = (before.members.get(name), self.members.get(name));
            let mut change = Map::new();
            for (key, value) in [("from", from), ("to", to)] {
                change.extend(value.map(|value| (key.to_owned(), value.clone())));
            }
            (from != to).then(|| (name.clone(), Value::Object(change)))
        };
        names.into_iter().filter_map(change).collect()
    }

    pub(super) fn set(&mut self, name: &str, value: &Value) {
        if name == "carrierId" && self.carrier() != value.as_str() {
            self.notes_before.insert("carrier".into(), self.notes.len());
            self.carriers.extend(value.as_str().map(str::to_owned));
        }
        if value.is_null() {
            self.members.remove(name);
        } else {
            self.members.insert(name.to_owned(), value.clone());
        }
    }

    pub(super) fn edit(&mut self, by: &str, members: &Value, known_revision: Option<i64>) -> u16 {
        let members = members.as_object().unwrap();
        let is_allowed = |name: &String| self.is_manager(by) || OF_CARRIER.contains(&name.as_str());
        if !(self.is_manager(by) || self.carrier() == Some(by)) || !members.keys().all(is_allowed) {
            return 403;
        }
        let may_change = |name: &String| match &*self.status {
            "upcoming" => true,
            "collected" if name == "vehicleRegistration" => self.carrier() == Some(by),
            "collected" => ["reference", "tags"].contains(&name.as_str()),
            _ => false,
        };
        if !members.keys().all(may_change) {
            return 409;
        }
        if known_revision.is_some_and(|known| known != self.revision) {
            return 412;
        }
        let before = self.clone();
        for (name, value) in members.iter().filter(|(name, _)| !name.starts_with("carrier")) {
            self.set(name, value);
        }
        if let Some(carrier) = members.get("carrierId") {
            let name = members.get("carrierName");
            if before.carrier().is_none() || before.carrier() != carrier.as_str() || name.is_some() {
                let name = if carrier.is_null() { Value::Null } else { organisation_name(carrier) };
                self.set("carrierId", carrier);
                self.set("carrierName", &name);
            }
        }
        let changes = self.changes(&before);
        if changes.contains_key("carrierId") {
            self.release(by, before.carrier());
        }
        if !changes.is_empty() {
            self.record("updated", by, &Value::Null, changes);
        }
        200
    }

    /// Revokes the drivers to whom only the old carrier sent the load.
    fn release(&mut self, by: &str, old: Option<&str>) {
        let Some(old) = old else { return };
        let is_of_old = |driver: &&String| self.senders[*driver].keys().all(|sender| sender == old);
        let lost: Vec<_> = self.drivers.iter().filter(is_of_old).cloned().collect();
        let told_to: BTreeSet<_> = [ORGANISER, old].map(str::to_owned).into();
        for driver in lost {
            self.remove_driver(by, &driver);
            self.revision -= 1;
            let told = self.told.last_mut().unwrap();
            (told.parties, told.creator) = (told_to.clone(), None);
        }
        self.revision += 1;
        self.tell("released", [old.to_owned()].into(), None);
        self.revision -= 1;
        // The creator reads the other events, also when it is no longer the carrier.
        self.told.last_mut().unwrap().is_in_feed = self.creator != old;
    }

    fn remove_driver(&mut self, by: &str, driver: &str) {
        self.drivers.remove(driver);
        self.senders.remove(driver);
        self.pending.remove(&("driver", driver.to_owned()));
        let changes = json!({"driverId": {"from": driver}});
        self.record("driver_revoked", by, &Value::Null, changes.as_object().unwrap().clone());
    }

    pub(super) fn cancel(&mut self, by: &str, reason: &Value) -> u16 {
        if !self.is_manager(by) {
            return 403;
        }
        if !["upcoming", "cancelled"].contains(&self.status.as_str()) {
            return 409;
        }
        if self.status == "upcoming" {
            self.status = "cancelled".into();
            self.record("cancelled", by, reason, Map::new());
        }
        200
    }

    pub(super) fn accept(&mut self, by: &str) -> u16 {
        if by != ORGANISER {
            return 403;
        }
        if ["cancelled", "rejected"].contains(&self.status.as_str()) {
            return 409;
        }
        if std::mem::take(&mut self.awaits_acceptance) {
            self.record("accepted", by, &Value::Null, Map::new());
        }
        200
    }

    fn apply_proof(&mut self, proof: &Map<String, Value>) {
        for name in ["weightNet", "weightGross", "weightTare", "ticketNumber", "vehicleRegistration"] {
            self.set(name, proof.get(name).unwrap_or(&Value::Null));
        }
        self.current = Some(proof.clone());
    }

    fn is_open(&self) -> bool {
        ["upcoming", "collected"].contains(&self.status.as_str())
    }

    /// Records the collection or the rejection of the load.
    pub(super) fn record_document(&mut self, by: &str, kind: &'static str, form: &Value) -> u16 {
        if !self.is_party(by) && !self.drivers.contains(by) {
            return 403;
        }
        let status = if kind == "collection" { "collected" } else { "rejected" };
        let document = document(form);
        if self.status == status && self.members.get(kind) == Some(&document) {
            return 200;
        }
        if !self.is_open() {
            return 409;
        }
        let before = self.clone();
        self.status = status.into();
        self.members.insert(kind.into(), document);
        let changes = self.changes(&before);
        self.record(status, by, &Value::Null, changes);
        200
    }

    pub(super) fn reopen(&mut self, by: &str, reason: &str) -> u16 {
        // A creator that is no longer the carrier only reads the load.
        let as_creator = by == self.creator && self.is_party(by) && self.status == "cancelled";
        if by != "admin" && by != ORGANISER && !as_creator {
            return 403;
        }
        if self.is_open() {
            return 200;
        }
        let before = self.clone();
        self.members.remove("rejection");
        let mut completion = Map::new();
        if self.status == "completed" {
            self.members = self.before_proof.clone();
            (self.original, self.current) = (None, None);
            completion.insert("completedAtUTC".into(), json!({"from": CAPTURED_AT}));
        }
        let is_collected = self.members.contains_key("collection");
        self.status = if is_collected { "collected" } else { "upcoming" }.into();
        let mut changes = self.changes(&before);
        changes.extend(completion);
        self.record("reopened", by, &json!(reason), changes);
        200
    }

    pub(super) fn prove(&mut self, by: &str, form: &Value) -> u16 {
        let proof = without_nulls(form);
        if !agree(&proof) {
            return 400;
        }
        if !self.is_party(by) && !self.drivers.contains(by) {
            return 403;
        }
        if self.status == "completed" {
            let is_repeat = [&self.original, &self.current].contains(&&Some(proof));
            return if is_repeat { 200 } else { 409 };
        }
        if !self.is_open() {
            return 409;
        }
        let before = self.clone();
        self.before_proof = self.members.clone();
        self.status = "completed".into();
        self.apply_proof(&proof);
        self.original = Some(proof);
        let changes = self.changes(&before);
        self.record("completed", by, &Value::Null, changes);
        200
    }

    pub(super) fn correct(&mut self, by: &str, form: &Value) -> u16 {
        let mut values = without_nulls(form);
        let reason = values.remove("reason").unwrap();
        if values.is_empty() || !agree(&values) {
            return 400;
        }
        if !self.is_party(by) {
            return 403;
        }
        let Some(mut proof) = self.current.clone() else { return 409 };
        proof.extend(values);
        if !agree(&proof) {
            return 400;
        }
        if self.current.as_ref() != Some(&proof) {
            let before = self.clone();
            self.apply_proof(&proof);
            let changes = self.changes(&before);
            self.record("corrected", by, &reason, changes);
        }
        200
    }

    pub(super) fn send_to_driver(&mut self, by: &str, driver: &str) -> u16 {
        if !self.is_party(by) {
            return 403;
        }
        if !self.is_open() {
            return 409;
        }
        self.drivers.insert(driver.to_owned());
        self.notes_before.insert(driver.to_owned(), self.notes.len());
        self.sent.insert(driver.to_owned(), self.events.len());
        let senders = self.senders.entry(driver.to_owned()).or_default();
        let is_first = !senders.contains_key(by);
        senders.entry(by.to_owned()).or_insert(self.events.len());
        let is_new = self.pending.insert(("driver", driver.to_owned()));
        if is_new || is_first {
            let changes = json!({"driverId": {"to": driver}});
            self.record("sent_to_driver", by, &Value::Null, changes.as_object().unwrap().clone());
            // Webhooks are not told of a sending while another is pending.
            self.told.last_mut().unwrap().is_reported = is_new;
        }
        200
    }

    pub(super) fn send_to_carrier(&mut self, by: &str, carrier: &str) -> u16 {
        if !self.is_party(by) {
            return 403;
        }
        let is_present = self.carrier() == Some(carrier);
        if !self.is_open() || !is_present && (self.status == "collected" || self.carrier().is_some()) {
            return 409;
        }
        let before = self.clone();
        if self.carrier().is_none() {
            let name = organisation_name(&json!(carrier));
            self.set("carrierId", &json!(carrier));
            self.set("carrierName", &name);
        }
        let changes = self.changes(&before);
        self.revision += i64::from(!changes.is_empty());
        if self.pending.insert(("carrier", carrier.to_owned())) || !changes.is_empty() {
            self.record("sent_to_carrier", by, &Value::Null, changes);
        }
        200
    }

    pub(super) fn note(&mut self, by: &str, text: &str) -> u16 {
        if !self.is_party(by) && !self.drivers.contains(by) {
            return 403;
        }
        self.notes.push((text.to_owned(), self.carrier().map(str::to_owned)));
        self.record("noted", by, &Value::Null, Map::new());
        self.events.last_mut().unwrap()["text"] = json!(text);
        200
    }

    /// Returns the texts of the notes that an actor reads, or `None` if the actor reads none.
    pub(super) fn notes_of(&self, by: &str) -> Option<Vec<Value>> {
        let is_driver = self.drivers.contains(by);
        let is_reader = |(index, (_, carrier)): &(usize, &(String, Option<String>))| {
            if by == "admin" || by == ORGANISER {
                true
            } else if self.carrier() == Some(by) {
                *index >= self.notes_before["carrier"]
            } else {
                carrier.as_deref() == Some(by) || is_driver && *index >= self.notes_before[by]
            }
        };
        if !self.is_party(by) && !is_driver && !self.carriers.contains(by) {
            return None;
        }
        let notes = self.notes.iter().enumerate().filter(is_reader);
        Some(notes.map(|(_, (text, _))| json!(text)).collect())
    }

    pub(super) fn revoke(&mut self, by: &str, driver: &str) -> u16 {
        if !self.is_party(by) {
            return 403;
        }
        // A carrier does not know whom the load was sent to before, and cannot revoke a driver of the organiser.
        let since = self.carrier_since.filter(|_| by != "admin" && by != ORGANISER);
        let is_known = |driver: &str| since.is_none_or(|since| self.sent[driver] > since);
        if !self.drivers.contains(driver) || !is_known(driver) {
            return 404;
        }
        if since.is_some_and(|since| self.senders[driver].values().any(|first| *first < since)) {
            return 403;
        }
        self.remove_driver(by, driver);
        200
    }
}
