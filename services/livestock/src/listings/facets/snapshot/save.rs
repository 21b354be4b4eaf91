//! Writes snapshots.

use std::time::{Duration, Instant};

use common::Error;
use crc32fast::Hasher;
use database::{Database, Id, Timestamp};
use tokio::sync::mpsc;

use super::chunks::encode;
use super::model::{SnapshotHeader, SnapshotState};
use super::store;
use crate::listings::facets::full_read::read_all;
use crate::listings::facets::record::IndexRecord;

/// Pause after each page of listings and each chunk, so that requests are hardly delayed.
const PAUSE: Duration = Duration::from_millis(10);

/// Writes a snapshot if one is due and no other replica is writing one.
///
/// # Errors
/// If the database fails.
pub(crate) async fn save_if_due(db: &Database) -> Result<(), Error> {
    let state = db.read(store::state).await?;
    let id = Id::new();
    if state.is_due(Timestamp::now()) && db.write(move |c| store::begin(c, id)).await? {
        save(db, id, state).await?;
    }
    Ok(())
}

/// Writes a snapshot that was begun.
///
/// # Errors
/// If the database fails.
pub(super) async fn save(db: &Database, id: Id, state: SnapshotState) -> Result<(), Error> {
    let started = Instant::now();
    delete_unused_chunks(db, id).await?;
    let (index, cursor) = read_all(db, PAUSE).await?;
    let (sender, mut encoded) = mpsc::channel(1);
    let encoding = tokio::task::spawn_blocking(move || {
        let stale_listings = cursor.stale.iter().map(|id| IndexRecord::Stale(*id));
        let mut chunks = encode(index.inner.records().chain(stale_listings));
        // Fails if the snapshot is abandoned.
        let _ = chunks.try_for_each(|chunk| sender.blocking_send(chunk));
        (index.inner.len(), cursor.position)
    });
    let (mut chunks, mut checksum) = (0, Hasher::new());
    while let Some(chunk) = encoded.recv().await {
        let chunk = chunk.map_err(|e| Error::Internal(e.into()))?;
        chunks += 1;
        checksum.update(&chunk);
        db.write(move |c| store::insert_chunk(c, id, chunks, &chunk)).await?;
        tokio::time::sleep(PAUSE).await;
    }
    let (listings, position) = encoding.await.map_err(|e| Error::Internal(e.into()))?;
    let header = SnapshotHeader {
        id,
        layout: state.layout,
        position,
        last_event: 0,
        listings: i64::try_from(listings).unwrap_or(i64::MAX),
        chunks,
        checksum: checksum.finalize().into(),
        written_at: Timestamp::now(),
    };
    let replaced = state.header.map(|header| header.id);
    if db.write(move |c| store::complete(c, &header, replaced)).await? {
        delete_unused_chunks(db, id).await?;
        let seconds = started.elapsed().as_secs_f64();
        tracing::info!(listings, chunks, seconds, "a snapshot of the facet index was written");
    } else {
        tracing::warn!("a snapshot of the facet index was abandoned: another replica has written one");
    }
    Ok(())
}

/// Deletes the chunks of other snapshots without header, each in its own transaction, so that other writes are not
/// delayed.
async fn delete_unused_chunks(db: &Database, except: Id) -> Result<(), Error> {
    while db.write(move |c| store::delete_unused_chunk(c, except)).await? {}
    Ok(())
}
