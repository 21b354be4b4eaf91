//! Queries on snapshots.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::Error;
use database::{AnyConnection, Id};
use diesel::dsl::max;
use diesel::prelude::*;

use super::model::{SnapshotHeader, SnapshotState, layout};
use crate::listings::facets::store::current_position;
use crate::schema::__diesel_schema_migrations::dsl as m;
use crate::schema::facet_snapshot_chunks::{self, dsl as k};
use crate::schema::facet_snapshots::{self, dsl as f};
use crate::schema::listing_events::dsl as e;

/// Time that a replica has to write a snapshot. Then another one may write its own.
const MAX_WRITE_TIME: Duration = Duration::from_secs(600);
/// Limit of the events that are read after a snapshot.
const MAX_EVENTS: i64 = 200_000;
/// All listings are read if more events than the listings divided by this came after the snapshot, and more than
/// [`FEW_EVENTS`].
const MAX_CHANGED_PART: i64 = 4;
/// Events whose listings are read within some milliseconds.
const FEW_EVENTS: i64 = 2_000;

/// Reads what determines whether a snapshot is due or can be loaded.
pub(crate) fn state(c: &mut AnyConnection) -> Result<SnapshotState, Error> {
    let schema: Option<String> = m::__diesel_schema_migrations.select(max(m::version)).get_result(c)?;
    let header = header(c)?;
    Ok(SnapshotState { header, layout: layout(&schema.unwrap_or_default()), last_event: last_event(c)? })
}

fn header(c: &mut AnyConnection) -> Result<Option<SnapshotHeader>, Error> {
    let headers = f::facet_snapshots.order(f::written_at.desc()).select(SnapshotHeader::as_select());
    Ok(headers.first(c).optional()?)
}

fn last_event(c: &mut AnyConnection) -> Result<i64, Error> {
    let last: Option<i64> = e::listing_events.select(max(e::n)).get_result(c)?;
    Ok(last.unwrap_or_default())
}

/// Begins a snapshot, unless another replica is writing one. Chunk 0 is there until the snapshot is complete.
pub(crate) fn begin(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let began = |id: &Id| id.0.get_timestamp().map(|time| Duration::from_secs(time.to_unix().0));
    let others: Vec<Id> = k::facet_snapshot_chunks.filter(k::number.eq(0)).select(k::snapshot_id).load(c)?;
    if others.iter().filter_map(began).any(|began| now.abs_diff(began) < MAX_WRITE_TIME) {
        return Ok(false);
    }
    insert_chunk(c, id, 0, &[])?;
    Ok(true)
}

/// Stores a chunk.
pub(crate) fn insert_chunk(c: &mut AnyConnection, id: Id, number: i32, contents: &[u8]) -> Result<(), Error> {
    let chunk = (k::snapshot_id.eq(id), k::number.eq(number), k::contents.eq(contents));
    diesel::insert_into(facet_snapshot_chunks::table).values(chunk).execute(c)?;
    Ok(())
}

/// Deletes one chunk of a replaced or abandoned snapshot, but none of the snapshot `except`. Returns whether there may
/// be more.
pub(crate) fn delete_unused_chunk(c: &mut AnyConnection, except: Id) -> Result<bool, Error> {
    let mut used: Vec<Id> = f::facet_snapshots.select(f::id).load(c)?;
    used.push(except);
    let ids: Vec<Id> = k::facet_snapshot_chunks.select(k::snapshot_id).distinct().load(c)?;
    let Some(id) = ids.into_iter().find(|id| !used.contains(id)) else { return Ok(false) };
    let chunks = k::facet_snapshot_chunks.filter(k::snapshot_id.eq(id));
    let number: Option<i32> = chunks.select(max(k::number)).get_result(c)?;
    let chunk = k::facet_snapshot_chunks.find((id, number.unwrap_or_default()));
    diesel::delete(chunk).execute(c)?;
    Ok(true)
}

/// Writes the header of a snapshot and deletes that of the replaced one. Returns `false` if another replica has written
/// a snapshot or deleted chunks meanwhile, or if the database is in an earlier state than that of the snapshot.
pub(crate) fn complete(
    c: &mut AnyConnection,
    new: &SnapshotHeader,
    replaced: Option<Id>,
) -> Result<bool, Error> {
    let chunks = k::facet_snapshot_chunks.filter(k::snapshot_id.eq(new.id)).filter(k::number.gt(0));
    let chunks: i64 = chunks.count().get_result(c)?;
    let is_expected = chunks == i64::from(new.chunks) && header(c)?.map(|header| header.id) == replaced;
    if !is_expected || current_position(c)? < new.position {
        return Ok(false);
    }
    diesel::delete(facet_snapshots::table).execute(c)?;
    let header = SnapshotHeader { last_event: last_event(c)?, ..new.clone() };
    diesel::insert_into(facet_snapshots::table).values(header).execute(c)?;
    diesel::delete(k::facet_snapshot_chunks.find((new.id, 0))).execute(c)?;
    Ok(true)
}

/// Deletes the header of a snapshot that cannot be loaded.
pub(crate) fn discard(c: &mut AnyConnection, id: Id) -> Result<(), Error> {
    diesel::delete(f::facet_snapshots.find(id)).execute(c)?;
    Ok(())
}

/// Returns a chunk, if it is there.
pub(crate) fn chunk(c: &mut AnyConnection, id: Id, number: i32) -> Result<Option<Vec<u8>>, Error> {
    Ok(k::facet_snapshot_chunks.find((id, number)).select(k::contents).first(c).optional()?)
}

/// Returns the listings of the events that came after a snapshot, or `None` if there are too many.
///
/// On PostgreSQL such an event has at least the position of the snapshot, or, if the database was moved to another
/// server, which numbers its transactions anew, a greater number than the last event.
pub(crate) fn changed_since(
    c: &mut AnyConnection,
    snapshot: &SnapshotHeader,
) -> Result<Option<BTreeSet<Id>>, Error> {
    let events = e::listing_events.select(e::listing_id).limit(MAX_EVENTS + 1).into_boxed();
    let ids: Vec<Id> = match c {
        AnyConnection::Sqlite(_) => events.filter(e::n.ge(snapshot.position)).load(c)?,
        AnyConnection::Postgres(_) => {
            let is_later = e::position.ge(snapshot.position).or(e::n.gt(snapshot.last_event));
            events.filter(is_later).load(c)?
        }
    };
    let limit = (snapshot.listings / MAX_CHANGED_PART).clamp(FEW_EVENTS, MAX_EVENTS);
    let is_few = i64::try_from(ids.len()).is_ok_and(|events| events <= limit);
    Ok(is_few.then(|| ids.into_iter().collect()))
}
