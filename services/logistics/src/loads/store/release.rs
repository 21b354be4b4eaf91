//! What a carrier loses when a load gets another one, and what the new one reads (docs/api/loads.md, "Another
//! carrier").

use std::collections::{BTreeMap, BTreeSet};

use common::system::{self, DueShare};
use common::{Caller, Error};
use database::{AnyConnection, Id, Json};
use diesel::prelude::*;
use serde_json::json;
use webhooks::{Event, EventDetails, Subject};

use super::{drivers, find_own};
use crate::loads::history::{
    self, Audience, CarrierSince, Change, Changes, EventType, HistoryReader, NewEvent,
};
use crate::loads::model::Load;
use crate::loads::party::Party;
use crate::notifications;
use crate::schema::loads::dsl as l;

/// The event of a carrier that lost a load.
const RELEASED: &str = "load.released";
/// The number of loads that are read first to find out whether one of them has a file.
const FIRST_LOADS: usize = 8;
/// The most loads of a file that are read (docs/operations/growth.md).
const MAX_LOADS: usize = 1_000;
/// The event of a revoked driver.
const DRIVER_REVOKED: &str = "load.driver_revoked";

/// Ends the rights of the carrier that a change replaces, if its organisation has no other part in the load: revokes
/// the drivers that it sent, reports to its webhooks that it lost the load, and removes the names of its users from the
/// files that the load keeps. Returns the end of the sharing of files.
pub(crate) fn release_carrier(
    c: &mut AnyConnection,
    before: &Load,
    load: &mut Load,
    caller: &Caller,
) -> Result<Option<DueShare>, Error> {
    let Some(old) = before.carrier_id().filter(|old| !load.parties().contains(old)) else { return Ok(None) };
    hide_uploaders(c, before, load, old)?;
    let organiser = load.organiser.as_ref().and_then(|organiser| organiser.id.as_deref());
    let (document, released) = (Json::of(load)?, released(before));
    let audience = Audience {
        revision: load.revision,
        reference: &before.reference,
        organiser: None,
        carrier: Some(old),
    };
    for driver in drivers_of_carrier(c, before.id, old)? {
        drivers::remove_driver(c, load.id, &driver, None)?;
        let revocation = Revocation { load, driver: &driver, caller };
        revocation.record(c, Some(Audience { organiser, ..audience }))?;
        revocation.report(c, organiser.as_slice(), (&document, true))?;
        revocation.report(c, &[old], (&released, false))?;
    }
    notifications::drop_pending(c, load.id, notifications::Event::SentToCarrier, old)?;
    let cause = caller.organisation_id_or_empty();
    let subject = Subject {
        organisations: [old, ""],
        reaches_all: true,
        cause,
        id: load.id,
        document: &released,
        details: "",
        users: &[],
    };
    webhooks::emit(c, Event { name: RELEASED, member: "load", subject })?;
    // The creator of the load still reads its events.
    if before.creator_id() != Some(old) {
        let event = NewEvent::new(before.id, EventType::Released, caller);
        history::record(c, &NewEvent { audience: Some(audience), ..event })?;
    }
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
        senders.get(driver).is_some_and(|by| by.keys().any(|sender| sender.as_deref() != Some(carrier)))
    };
    found.retain(|driver| !is_sent_by_others(driver));
    Ok(found)
}

/// Removes the names of the users of a former carrier: those who uploaded the files that it added.
fn hide_uploaders(c: &mut AnyConnection, before: &Load, load: &mut Load, carrier: &str) -> Result<(), Error> {
    let added = history::added_files(c, &[load.id])?;
    let creator = before.creator_id();
    for file in &mut load.files {
        let last = match Id::parse(&file.id).and_then(|file| added.get(&(load.id, file))) {
            Some(organisation) => organisation.as_deref(),
            None => creator,
        };
        if before.has_file(&file.id) && last == Some(carrier) {
            file.user_name.clear();
        }
    }
    Ok(())
}

/// Returns the files that the load has or had and that the carrier does not hold through another load.
fn files_of_this_load_only(c: &mut AnyConnection, load: &Load, carrier: &str) -> Result<Vec<Id>, Error> {
    let mut files: BTreeSet<Id> = load.files.iter().filter_map(|file| Id::parse(&file.id)).collect();
    files.extend(system::files_of(c, load.id)?);
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
    /// Returns true if the carrier holds the file through one of the oldest [`MAX_LOADS`] loads that have it. Reads a
    /// few of them first, because most files are on one load, or held through each of theirs.
    fn have(&mut self, c: &mut AnyConnection, file: Id) -> Result<bool, Error> {
        for limit in [FIRST_LOADS, MAX_LOADS] {
            let ids = system::subjects_of(c, file, limit)?;
            self.read(c, &ids)?;
            if ids.iter().any(|id| self.held.get(id).is_some_and(|held| held.contains(&file))) {
                return Ok(true);
            }
            if ids.len() < limit {
                break;
            }
        }
        Ok(false)
    }

    /// Reads those of these loads that were not read yet. Files that the carrier itself added do not count: with them,
    /// it could keep every file.
    fn read(&mut self, c: &mut AnyConnection, ids: &[Id]) -> Result<(), Error> {
        let unread: Vec<Id> = ids.iter().copied().filter(|id| !self.held.contains_key(id)).collect();
        if unread.is_empty() {
            return Ok(());
        }
        self.held.extend(unread.iter().map(|id| (*id, BTreeSet::new())));
        // Only the ids are conditions. With the carrier as another one, PostgreSQL may scan all its loads for each id.
        let columns = (l::id, l::organiser_id, l::carrier_id, l::created_by, l::document);
        let mut others: Vec<OtherLoad> = l::loads.filter(l::id.eq_any(&unread)).select(columns).load(c)?;
        let own = |party: &Option<String>| party.as_deref() == Some(self.carrier);
        others.retain(|(_, organiser, carrier, ..)| own(organiser) || own(carrier));
        let ids: Vec<Id> = others.iter().map(|(id, ..)| *id).collect();
        let added = history::added_files(c, &ids)?;
        for (id, _, _, creator, document) in others {
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

/// A load with its organiser, its carrier and its creator.
type OtherLoad = (Id, Option<String>, Option<String>, Option<String>, Json);

/// The revocation of a driver.
pub(super) struct Revocation<'a> {
    pub(super) load: &'a Load,
    pub(super) driver: &'a str,
    pub(super) caller: &'a Caller,
}

impl Revocation<'_> {
    fn changes(&self) -> Changes {
        Changes::from([("driverId", Change::new(Some(json!(self.driver)), None))])
    }

    /// Removes the pending notifications of the driver, and records the event.
    pub(super) fn record(&self, c: &mut AnyConnection, audience: Option<Audience<'_>>) -> Result<(), Error> {
        let load_id = self.load.id;
        notifications::drop_pending(c, load_id, notifications::Event::SentToDriver, self.driver)?;
        let event = NewEvent::new(load_id, EventType::DriverRevoked, self.caller);
        history::record(c, &NewEvent { changes: self.changes(), audience, ..event }).map(drop)
    }

    /// Stores the deliveries of the event to the webhooks of up to two organisations and, with `reaches_all`, to those
    /// for the events of all. `document` is the load as they read it.
    pub(super) fn report(
        &self,
        c: &mut AnyConnection,
        organisations: &[&str],
        (document, reaches_all): (&Json, bool),
    ) -> Result<(), Error> {
        let organisation = |index: usize| organisations.get(index).copied().unwrap_or_default();
        let details = EventDetails {
            user_id: Some(&self.caller.user_id),
            organisation_id: self.caller.organisation.as_ref().map(|own| own.id.as_str()),
            changes: Some(json!(self.changes())),
            driver_id: Some(self.driver),
            ..EventDetails::default()
        };
        let subject = Subject {
            organisations: [organisation(0), organisation(1)],
            reaches_all,
            cause: self.caller.organisation_id_or_empty(),
            id: self.load.id,
            document,
            details: &details.members()?,
            users: &[&self.caller.user_id],
        };
        webhooks::emit(c, Event { name: DRIVER_REVOKED, member: "load", subject })?;
        Ok(())
    }
}

/// Returns which part of the history of a load the caller reads, if it asks for events of these types. Drivers, and
/// organisations that are no longer a party, read notes only, and have to ask for them alone.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller has no part in it.
pub(crate) fn history_reader(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    types: &[EventType],
) -> Result<HistoryReader, Error> {
    let refused = match find_own(c, caller, id) {
        Ok(load) => {
            let since = carried_since(c, &load, caller)?;
            return Ok(since.map_or(HistoryReader::All, HistoryReader::Carrier));
        }
        Err(error) => error,
    };
    if !matches!(refused, Error::Forbidden(_))
        || types.is_empty()
        || types.iter().any(|event| *event != EventType::Noted)
    {
        return Err(refused);
    }
    let since = drivers::sent_at(c, id, &caller.user_id)?;
    let organisation = match &caller.organisation {
        Some(own) if history::was_party(c, id, &own.id)? => Some(own.id.clone()),
        _ => None,
    };
    if since.is_none() && organisation.is_none() {
        return Err(refused);
    }
    Ok(HistoryReader::Notes { organisation, since })
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
