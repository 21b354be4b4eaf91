//! Reading events; `listings/store.rs` writes them, with the change.

use common::Error;
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use super::Event;
use crate::schema::listing_events::dsl as e;

type Row = (Option<String>, String, Option<String>, String, Timestamp);

/// All events of a listing, oldest first.
pub fn list(c: &mut AnyConnection, listing: Id) -> Result<Vec<Event>, Error> {
    let rows: Vec<Row> = e::listing_events
        .filter(e::listing_id.eq(listing))
        .order(e::n)
        .select((e::from_status, e::to_status, e::reason, e::user_id, e::at))
        .load(c)?;
    Ok(rows
        .into_iter()
        .map(|(from, to, reason, user_id, at)| Event { from, to, reason, user_id, at })
        .collect())
}
