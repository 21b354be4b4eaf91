//! The lease of the replica that matches.

use std::time::Duration;

use common::Error;
use database::{AnyConnection, Id, Timestamp, shared_now};
use diesel::prelude::*;

use crate::saved_searches::matching::model::Lease;
use crate::schema::saved_search_cursor::dsl as r;

/// Requests the lease for a replica, or extends it. On SQLite one process writes, so an earlier one has ended.
pub(in crate::saved_searches::matching) fn request_lease(
    c: &mut AnyConnection,
    replica: Id,
    duration: Duration,
) -> Result<Lease, Error> {
    let now = shared_now(c)?;
    let row = r::saved_search_cursor.find(1);
    let (holder, until): (Option<Id>, Option<Timestamp>) =
        row.select((r::replica, r::leased_until)).first(c)?;
    let is_leased = until.is_some_and(|until| until > now);
    if is_leased && holder != Some(replica) && matches!(c, AnyConnection::Postgres(_)) {
        return Ok(Lease::HeldByAnother);
    }
    diesel::update(row).set((r::replica.eq(replica), r::leased_until.eq(now.after(duration)))).execute(c)?;
    Ok(if is_leased && holder == Some(replica) { Lease::Kept } else { Lease::Acquired })
}

/// Ends the lease of a replica, if it has it.
pub(in crate::saved_searches::matching) fn release_lease(
    c: &mut AnyConnection,
    replica: Id,
) -> Result<(), Error> {
    let held = r::saved_search_cursor.find(1).filter(r::replica.eq(replica));
    diesel::update(held).set(r::leased_until.eq(None::<Timestamp>)).execute(c)?;
    Ok(())
}

/// Returns true if a replica was the last one to get the lease. No other one gets it until this transaction has ended.
pub(super) fn has_lease(c: &mut AnyConnection, replica: Id) -> Result<bool, Error> {
    let holder = r::saved_search_cursor.find(1).select(r::replica);
    let holder: Option<Id> = match c {
        AnyConnection::Sqlite(c) => holder.first(c)?,
        AnyConnection::Postgres(c) => holder.for_no_key_update().first(c)?,
    };
    Ok(holder == Some(replica))
}
