//! Notes on loads (docs/api/loads.md, "Notes"): events that change nothing.

use std::time::Duration;

use common::{Caller, Error, Reason};
use database::{AnyConnection, Id};

use super::rate::Rate;
use super::{announce_one, find_to_prove, lock, report};
use crate::loads::history::{self, Audience, EventType, NewEvent};

/// Maximum number of notes on a load.
const MAX_NOTES: i64 = 200;
/// The limit on the notes of a user.
const NOTES: Rate =
    Rate { table: "user_notes", actor: "user_id", maximum: 60, period: Duration::from_secs(3_600) };

/// Stores a note on a load, and its event for webhooks. Returns its id.
///
/// # Errors
/// 404 if there is no such load, 403 if the caller is neither a party nor a driver of it, 409 if it has 200 notes, 429
/// if the user wrote 60 notes in the last hour.
pub(crate) fn add_note(c: &mut AnyConnection, caller: &Caller, id: Id, text: &str) -> Result<Id, Error> {
    lock(c, id)?;
    let load = find_to_prove(c, caller, id)?.load;
    announce_one(c, id)?;
    if history::count_notes(c, id)? >= MAX_NOTES {
        return Err(Error::conflict(Reason::LimitReached, "This load has 200 notes, which is the most."));
    }
    NOTES.count(c, &caller.user_id)?;
    let organiser = load.organiser.as_ref().and_then(|organiser| organiser.id.as_deref());
    // A creator that is no party does not read it.
    let audience = Audience {
        revision: load.revision,
        reference: &load.reference,
        organiser,
        carrier: load.carrier_id().filter(|carrier| Some(*carrier) != organiser),
    };
    let event = NewEvent {
        text: Some(text),
        audience: Some(audience),
        ..NewEvent::new(id, EventType::Noted, caller)
    };
    let note = history::record(c, &event)?;
    report(c, &event, &load)?;
    Ok(note)
}
