//! Builds the index from all listings.

use std::time::Duration;

use common::Error;
use database::Database;

use super::caching_index::CachingIndex;
use super::model::{EventCursor, ListingChanges};
use super::store;

/// Builds an index from all listings, which are read in pages. The next page is read while one is indexed. Waits for
/// `pause` after each page.
///
/// # Errors
/// If the database fails.
pub(crate) async fn read_all(db: &Database, pause: Duration) -> Result<(CachingIndex, EventCursor), Error> {
    let mut index = CachingIndex::default();
    let mut cursor =
        EventCursor { position: db.read(store::current_position).await?, ..EventCursor::default() };
    let mut page = db.read(|c| store::list_after(c, None)).await?;
    while let Some(last) = page.rows.last() {
        let after = last.id;
        cursor.track_stale(&page.rows);
        let (next, applied) =
            tokio::join!(db.read(move |c| store::list_after(c, Some(after))), apply(index, page));
        (page, index) = (next?, applied?);
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    let mut term = String::new();
    loop {
        let after = term.clone();
        let spellings = db.read(move |c| store::spellings_after(c, &after)).await?;
        let Some((last, _)) = spellings.last() else { return Ok((index, cursor)) };
        term.clone_from(last);
        index.add_spellings(spellings);
    }
}

/// Applies changes to an index on a blocking thread.
///
/// # Errors
/// 500 if the index panics.
pub(crate) async fn apply(mut index: CachingIndex, changes: ListingChanges) -> Result<CachingIndex, Error> {
    let applied = tokio::task::spawn_blocking(move || {
        index.apply(changes);
        index
    });
    applied.await.map_err(|e| Error::Internal(e.into()))
}
