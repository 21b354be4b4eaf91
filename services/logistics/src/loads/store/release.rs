//! What a carrier loses when a load gets another one, and what the new one reads (docs/api/loads.md, "Another
//! carrier").

use std::collections::{BTreeMap, BTreeSet};

use common::files::{self, DueShare};
use common::{Caller, Error};
use database::{AnyConnection, Id, Json};
use diesel::dsl::exists;
use diesel::prelude::*;
use serde_json::json;
use webhooks::{Event, Subject};

use super::drivers;
use crate::loads::history::{self, CarrierSince, Change, Changes, EventType, NewEvent};
use crate::loads::model::Load;
use crate::loads::party::Party;
use crate::notifications;
use crate::schema::load_events::dsl as e;
use crate::schema::loads::dsl as l;

/// The event of a carrier that lost a load.
const RELEASED: &str = "load.released";
/// The number of loads that are read first to find out whether one of them has a file.
const FIRST_LOADS: usize = 8;
/// The number of loads that each later statement reads.
const LOADS_PER_STATEMENT: usize = 1_000;
/// The event of a revoked driver.
const DRIVER_REVOKED: &str = "load.driver_revoked";

/// Ends the rights of the carrier that a change replaces, if its organisation has no other part in the load: revokes
/// the drivers that it sent, and reports to its webhooks that it lost the load. Returns the end of the sharing of
/// files.
pub(crate) fn release_carrier(
    c: &mut AnyConnection,
    before: &Load,
    load: &Load,
    caller: &Caller,
) -> Result<Option<DueShare>, Error> {
    let Some(old) = before.carrier_id().filter(|old| !load.parties().contains(old)) else { return Ok(None) };
    let organiser = load.organiser.as_ref().and_then(|organiser| organiser.id.as_deref());
    let (document, released) = (Json::of(before)?, released(before));
    for driver in drivers_of_carrier(c, before.id, old)? {
        drivers::remove_driver(c, load.id, &driver, None)?;
        let revocation = Revocation { load, driver: &driver, caller };
        revocation.record(c)?;
        revocation.report(c, organiser.as_slice(), &document)?;
        revocation.report(c, &[old], &released)?;
    }
    notifications::drop_pending(c, load.id, notifications::Event::SentToCarrier, old)?;
    let cause = caller.organisation_id_or_empty();
    let subject = Subject {
        organisations: [old, ""],
        cause,
        id: load.id,
        document: &released,
        details: "",
        users: &[],
    };
    webhooks::emit(c, Event { name: RELEASED, member: "load", subject })?;
    let lost = files_of_this_load_only(c, before, old)?;
    Ok(DueShare::end(caller, load.id, lost, old))
}

/// Returns the part of a load that its former carrier is told.
fn released(load: &Load) -> Json {
    Json(json!({ "id": load.id, "reference": load.reference }).to_string())
}

/// Returns the drivers to whom no organisation but the carrier sent the load.
fn drivers_of_carrier(c: &mut AnyConnection, load_id: Id, carrier: &str) -> Result<Vec<String>, Error> {
    let senders = history::senders(c, load_id)?;
    let mut found = drivers::driver_ids(c, load_id)?;
    let is_sent_by_others = |driver: &String| {
        senders.get(driver).is_some_and(|by| by.iter().any(|sender| sender.as_deref() != Some(carrier)))
    };
    found.retain(|driver| !is_sent_by_others(driver));
    Ok(found)
}

/// Returns the files that the load has or had and that the carrier does not hold through another load.
fn files_of_this_load_only(c: &mut AnyConnection, load: &Load, carrier: &str) -> Result<Vec<Id>, Error> {
    let mut files: BTreeSet<Id> = load.files.iter().filter_map(|file| Id::parse(&file.id)).collect();
    files.extend(files::files_of(c, load.id)?);
    let mut other = OtherLoads { carrier, files: &files, held: BTreeMap::from([(load.id, BTreeSet::new())]) };
    let mut lost = Vec::new();
    for file in &files {
        if !other.have(c, *file)? {
            lost.push(*file);
        }
    }
    Ok(lost)
}

/// The other loads through which a carrier may hold the files of a load.
struct OtherLoads<'a> {
    carrier: &'a str,
    files: &'a BTreeSet<Id>,
    /// The files that the carrier holds through each load that was read.
    held: BTreeMap<Id, BTreeSet<Id>>,
}

impl OtherLoads<'_> {
    /// Returns true if the carrier holds the file through one of these loads. Reads a few of them first, because most
    /// files are on one load, or held through each of theirs.
    fn have(&mut self, c: &mut AnyConnection, file: Id) -> Result<bool, Error> {
        let (mut after, mut limit) = (Id::NIL, FIRST_LOADS);
        loop {
            let ids = files::subjects_of(c, file, after, limit)?;
            self.read(c, &ids)?;
            if ids.iter().any(|id| self.held.get(id).is_some_and(|held| held.contains(&file))) {
                return Ok(true);
            }
            match ids.last() {
                Some(last) if ids.len() == limit => (after, limit) = (*last, LOADS_PER_STATEMENT),
                _ => return Ok(false),
            }
        }
    }

    /// Reads those of these loads that were not read yet. Files that the carrier itself added do not count: with them,
    /// it could keep every file.
    fn read(&mut self, c: &mut AnyConnection, ids: &[Id]) -> Result<(), Error> {
        let unread: Vec<Id> = ids.iter().copied().filter(|id| !self.held.contains_key(id)).collect();
        if unread.is_empty() {
            return Ok(());
        }
        self.held.extend(unread.iter().map(|id| (*id, BTreeSet::new())));
        let own = l::organiser_id.eq(self.carrier).or(l::carrier_id.eq(self.carrier));
        let by_others = e::organisation_id.is_null().or(e::organisation_id.ne(self.carrier));
        let changed = exists(
            e::load_events.filter(e::load_id.eq(l::id)).filter(history::changes_files()).filter(by_others),
        );
        let others = l::loads
            .filter(l::id.eq_any(&unread))
            .filter(own)
            .filter(l::created_by.is_null().or(l::created_by.ne(self.carrier)).or(changed))
            .select((l::id, l::document, l::created_by));
        let others = others.load::<(Id, Json, Option<String>)>(c)?;
        let ids: Vec<Id> = others.iter().map(|(id, ..)| *id).collect();
        let added = history::added_files(c, &ids)?;
        for (id, document, creator) in others {
            let other: Load = document.parse()?;
            let mut held: BTreeSet<Id> = other.files.iter().filter_map(|file| Id::parse(&file.id)).collect();
            held.retain(|file| {
                let last = added.get(&(id, *file)).unwrap_or(&creator);
                self.files.contains(file) && last.as_deref() != Some(self.carrier)
            });
            self.held.insert(id, held);
        }
        Ok(())
    }
}

/// The revocation of a driver.
pub(super) struct Revocation<'a> {
    pub(super) load: &'a Load,
    pub(super) driver: &'a str,
    pub(super) caller: &'a Caller,
}

impl Revocation<'_> {
    /// Removes the pending notifications of the driver, and records the event.
    pub(super) fn record(&self, c: &mut AnyConnection) -> Result<(), Error> {
        let load_id = self.load.id;
        notifications::drop_pending(c, load_id, notifications::Event::SentToDriver, self.driver)?;
        let changes = Changes::from([("driverId", Change::new(Some(json!(self.driver)), None))]);
        history::record(
            c,
            &NewEvent { changes, ..NewEvent::new(load_id, EventType::DriverRevoked, self.caller) },
        )
    }

    /// Stores the deliveries of the event to the webhooks of up to two organisations. `document` is the load as they
    /// read it.
    pub(super) fn report(
        &self,
        c: &mut AnyConnection,
        organisations: &[&str],
        document: &Json,
    ) -> Result<(), Error> {
        let organisation = |index: usize| organisations.get(index).copied().unwrap_or_default();
        let details = format!("\"driverId\":{},", json!(self.driver));
        let subject = Subject {
            organisations: [organisation(0), organisation(1)],
            cause: self.caller.organisation_id_or_empty(),
            id: self.load.id,
            document,
            details: &details,
            users: &[],
        };
        webhooks::emit(c, Event { name: DRIVER_REVOKED, member: "load", subject })?;
        Ok(())
    }
}

/// Returns from when on the caller reads the history, the notifications and the drivers of a load: `None` for all of
/// them. A carrier does not read what happened under its predecessor.
pub(crate) fn carried_since(
    c: &mut AnyConnection,
    load: &Load,
    caller: &Caller,
) -> Result<Option<CarrierSince>, Error> {
    let organises = |party: &Party| party.id.as_ref().is_some_and(|organiser| caller.acts_for(organiser));
    if caller.admin || load.organiser.as_ref().is_some_and(organises) {
        return Ok(None);
    }
    history::carrier_since(c, load.id)
}
