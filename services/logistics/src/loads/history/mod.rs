//! The history of loads (docs/api/loads.md, "History"): an event for each change, in the transaction of the change.

mod model;
mod store;

pub(super) use common::history::{Change, Changes, order};
pub(super) use model::NewestNote;
pub(super) use model::{Audience, EventType, LoadEvent, NewEvent};
pub(crate) use store::names_driver;
pub(super) use store::{
    CarrierSince, EVENT_COLUMNS, EventColumns, EventRow, HistoryReader, NoteReader, added_files,
    carrier_since, completion_changes, count_notes, event, hide_predecessor, list, newest_notes, record,
    record_created, record_many, senders, was_party,
};
