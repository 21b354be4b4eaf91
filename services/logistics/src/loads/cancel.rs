//! Cancels loads, with all that follows from it: by the operation on one load, on many loads, or on a batch
//! (docs/api/loads.md, "Cancel").

use std::collections::HashMap;

use common::{Caller, Error, Precondition};
use database::{AnyConnection, Id};

use super::history::{EventType, NewEvent};
use super::model::Load;
use super::status::{Action, Status};
use super::store::{self, Change};
use super::stored_load::StoredLoad;
use crate::notifications::{self, Event, NewNotification, Recipients};

/// Cancels a load, and returns it. Returns false, and changes nothing, if it is cancelled already.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller may not cancel it, 409 if its status forbids it, 412 if the
/// condition names another revision.
pub(crate) fn cancel(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    reason: Option<&str>,
    condition: &Precondition,
) -> Result<(Load, bool), Error> {
    let stored = store::find_stored(c, caller, id)?;
    if !stored.is_managed_by(caller) {
        return Err(Error::Forbidden(
            "Only the organiser of a load and the carrier that created it can cancel it.",
        ));
    }
    Action::Cancel.check(stored.load.status)?;
    condition.check(stored.load.revision)?;
    if stored.load.status == Status::Cancelled {
        return Ok((stored.load, false));
    }
    let mut cancelled = store_cancelled(c, caller, vec![stored.load], reason)?;
    let load = cancelled.pop().ok_or(Error::NotFound)?;
    Ok((load, true))
}

/// Cancels those loads that are upcoming and that the caller may cancel. Returns their number.
pub(crate) fn cancel_many(
    c: &mut AnyConnection,
    caller: &Caller,
    loads: Vec<StoredLoad>,
    reason: Option<&str>,
) -> Result<usize, Error> {
    let upcoming = loads
        .into_iter()
        .filter(|stored| stored.load.status == Status::Upcoming && stored.is_managed_by(caller));
    let upcoming = upcoming.map(|stored| stored.load).collect();
    Ok(store_cancelled(c, caller, upcoming, reason)?.len())
}

fn store_cancelled(
    c: &mut AnyConnection,
    caller: &Caller,
    before: Vec<Load>,
    reason: Option<&str>,
) -> Result<Vec<Load>, Error> {
    let mut loads = before.clone();
    for load in &mut loads {
        load.status = Status::Cancelled;
        load.revise();
    }
    let ids: Vec<Id> = loads.iter().map(|load| load.id).collect();
    let drivers: HashMap<Id, Vec<String>> = store::drivers_of(c, &ids, None)?;
    let none = Vec::new();
    let cancelled = loads.iter().map(|load| NewNotification {
        sender_id: caller.organisation_id_or_empty(),
        event: Event::Cancelled,
        load_id: load.id,
        load,
        recipients: Recipients::Drivers(drivers.get(&load.id).unwrap_or(&none)),
    });
    notifications::create_many(c, &cancelled.collect::<Vec<_>>())?;
    let changes = before.iter().zip(&loads).map(|(before, load)| {
        let event = NewEvent { reason, ..NewEvent::new(load.id, EventType::Cancelled, caller) };
        Change { before, load, event }
    });
    store::update_many(c, &changes.collect::<Vec<_>>())?;
    Ok(loads)
}
