//! Loads snapshots.

use std::collections::HashSet;

use anyhow::{Context, ensure};
use common::Error;
use database::{Database, Id};

use super::chunks::ChunkReader;
use super::model::SnapshotHeader;
use super::store;
use crate::listings::facets::caching_index::CachingIndex;
use crate::listings::facets::full_read::apply;
use crate::listings::facets::model::EventCursor;
use crate::listings::facets::store::{MAX_LIST_VALUES, current_position, listings};

/// Loads the index from the snapshot and the listings that changed later. Returns `None` if there is no usable
/// snapshot, or if too many listings changed.
///
/// # Errors
/// If the database fails. A damaged snapshot is no error.
pub(crate) async fn load(db: &Database) -> Result<Option<(CachingIndex, EventCursor)>, Error> {
    // Read before the events: the next read finds the events that are written meanwhile.
    let position = db.read(current_position).await?;
    let state = db.read(store::state).await?;
    let Some(header) = state.header.filter(|header| header.layout == state.layout) else { return Ok(None) };
    let id = header.id;
    let loaded = load_with(db, header, position).await;
    if let Err(error) = &loaded {
        tracing::warn!(error = format!("{error:#}"), "the snapshot of the facet index is not used");
        // Best effort. Without a header, a new snapshot is due at once.
        let _ = db.write(move |c| store::discard(c, id)).await;
    }
    Ok(loaded.ok().flatten())
}

async fn load_with(
    db: &Database,
    header: SnapshotHeader,
    position: i64,
) -> anyhow::Result<Option<(CachingIndex, EventCursor)>> {
    ensure!(
        header.position <= position,
        "it is from another server, which numbered its transactions differently"
    );
    let snapshot = header.clone();
    let Some(mut changed) = db.read(move |c| store::changed_since(c, &snapshot)).await? else {
        return Ok(None);
    };
    let (mut index, stale) = read_chunks(db, header).await?;
    changed.extend(&stale);
    let mut cursor = EventCursor { position, stale, ..EventCursor::default() };
    let changed: Vec<_> = changed.into_iter().collect();
    for ids in changed.chunks(MAX_LIST_VALUES) {
        let ids = ids.to_vec();
        let page = db.read(move |c| listings(c, &ids)).await?;
        cursor.track_stale(&page.rows);
        index = apply(index, page).await?;
    }
    Ok(Some((index, cursor)))
}

/// Reads the chunks of a snapshot. The next chunk is read while one is decoded.
async fn read_chunks(db: &Database, header: SnapshotHeader) -> anyhow::Result<(CachingIndex, HashSet<Id>)> {
    let id = header.id;
    let read = |number| db.read(move |c| store::chunk(c, id, number));
    let mut reader = ChunkReader::default();
    let mut next = read(1).await?;
    for number in 1..=header.chunks {
        let chunk = next.with_context(|| format!("chunk {number} is missing"))?;
        let decode = tokio::task::spawn_blocking(move || reader.add(&chunk).map(|()| reader));
        let (read, decoded) = tokio::join!(read(number.saturating_add(1)), decode);
        (next, reader) = (read?, decoded??);
    }
    let (index, stale) = reader.finish(&header)?;
    Ok((index.into(), stale))
}
