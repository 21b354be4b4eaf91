//! The service that answers requests for facets and keeps the index up to date.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Caller, Error};
use database::{Database, Id};
use parking_lot::{Mutex, RwLock};

use super::caching_index::CachingIndex;
use super::exact_filters::Viewer;
use super::full_read::read_all;
use super::last_read::LastRead;
use super::model::{Changes, EventCursor, StoredMatches};
use super::{snapshot, store};
use crate::categories::Categories;
use crate::listings::search::ListingSearch;

/// The most listings that are [candidates](FacetService::candidates). A page of words that more listings have is found
/// soon.
const MAX_CANDIDATES: usize = 1_000;
/// How long a request waits for earlier reads of events.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The facets of all listings, and the state of the reads that update them.
#[derive(Default)]
pub(crate) struct FacetService {
    /// The index of all listings.
    index: RwLock<CachingIndex>,
    /// The position up to which the index has the events. Locked before `index`.
    cursor: Mutex<EventCursor>,
    /// Whether the index was filled once.
    is_filled: AtomicBool,
    /// The number of reads that were started.
    reads_started: AtomicU64,
    /// Held during a read.
    last_read: tokio::sync::Mutex<LastRead>,
}

impl FacetService {
    /// Returns the facets of a search as JSON.
    ///
    /// # Errors
    /// As [`FacetService::update`]. Also if the wishlist cannot be read.
    pub(crate) async fn facets(
        self: &Arc<Self>,
        db: &Database,
        categories: Arc<Categories>,
        caller: Caller,
        search: ListingSearch,
    ) -> Result<String, Error> {
        self.update(db).await?;
        // Waits for no lock: a thread that counts or updates the index may hold it for long.
        if let Some(index) = self.index.try_read()
            && let Some(response) = index.cached(Viewer::from(&caller), &search, &categories)?
        {
            return Ok(response);
        }
        let stored = self.stored_matches(db, &caller, &search).await?;
        let service = self.clone();
        let counted = tokio::task::spawn_blocking(move || {
            let index = service.index.read();
            index.facets(Viewer::from(&caller), &search, &stored, &categories)
        });
        counted.await.map_err(|e| Error::Internal(e.into()))?
    }

    /// Returns the listings that may have all words, or `None` if they are many. Without this, the database would read
    /// all listings for rare words of two letters.
    ///
    /// # Errors
    /// As [`FacetService::update`].
    pub(crate) async fn candidates(
        self: &Arc<Self>,
        db: &Database,
        words: &[String],
    ) -> Result<Option<Vec<Id>>, Error> {
        self.update(db).await?;
        let (service, words) = (self.clone(), words.to_vec());
        let find = move || service.index.read().inner.candidates(&words, MAX_CANDIDATES);
        tokio::task::spawn_blocking(find).await.map_err(|e| Error::Internal(e.into()))
    }

    /// Reads what only the database knows of a search: the wishlist, and which of the long texts have its words.
    async fn stored_matches(
        self: &Arc<Self>,
        db: &Database,
        caller: &Caller,
        search: &ListingSearch,
    ) -> Result<StoredMatches, Error> {
        let mut stored = StoredMatches::default();
        if search.wishlisted {
            let caller = caller.clone();
            stored.wishlist = Some(db.read(move |c| store::wishlist(c, &caller)).await?);
        }
        if !search.words.is_empty() {
            let (service, words) = (self.clone(), search.words.clone());
            let ids = tokio::task::spawn_blocking(move || {
                service.index.read().inner.long_texts().iter().copied().collect::<Vec<_>>()
            });
            let ids = ids.await.map_err(|e| Error::Internal(e.into()))?;
            if !ids.is_empty() {
                stored.long_texts = db.read(move |c| store::with_all_words(c, &ids, &words)).await?;
            }
        }
        Ok(stored)
    }

    /// Updates the index with the changes that were committed before this call. Calls that arrive during a read share
    /// one later read.
    ///
    /// # Errors
    /// 503 if the database is unavailable, or if earlier reads take too long. 500 for other failures of a read.
    pub(crate) async fn update(self: &Arc<Self>, db: &Database) -> Result<(), Error> {
        let (started, arrival) = (self.reads_started.load(Ordering::SeqCst), Instant::now());
        let locked = tokio::time::timeout(READ_TIMEOUT, self.last_read.lock()).await;
        let mut last_read = locked.map_err(|_| {
            Error::Unavailable(anyhow::anyhow!("waiting for a read of the events timed out"), "The database")
        })?;
        if let Some(result) = last_read.result_for(started, arrival.elapsed()) {
            return result;
        }
        let number = self.reads_started.fetch_add(1, Ordering::SeqCst) + 1;
        let result = self.read(number, db).await;
        last_read.record(number, &result);
        result
    }

    /// Reads the new events and applies them to the index. Fills the index first from a snapshot or all listings.
    async fn read(self: &Arc<Self>, number: u64, db: &Database) -> Result<(), Error> {
        let cursor = self.cursor.lock().clone();
        let since = cursor.position;
        if since == 0 {
            let started = Instant::now();
            let loaded = snapshot::load(db).await?;
            let from_snapshot = loaded.is_some();
            let (index, cursor) = match loaded {
                Some(loaded) => loaded,
                None => read_all(db, Duration::ZERO).await?,
            };
            let (listings, seconds) = (index.inner.len(), started.elapsed().as_secs_f64());
            self.replace(number, index, cursor);
            tracing::info!(listings, seconds, from_snapshot, "the facet index is complete");
            return Ok(());
        }
        let changes = db.read(move |c| store::changes_since(c, &cursor)).await?;
        if changes.position < since {
            // A replica of the database that lags behind has taken over.
            let (index, cursor) = read_all(db, Duration::ZERO).await?;
            self.replace(number, index, cursor);
        } else if changes.listings.rows.is_empty() {
            self.apply(number, changes);
        } else {
            let service = self.clone();
            let applied = tokio::task::spawn_blocking(move || service.apply(number, changes));
            applied.await.map_err(|e| Error::Internal(e.into()))?;
        }
        Ok(())
    }

    /// Applies the changes that a read returned, unless those of a later read are applied already. That happens if the
    /// request of the earlier read was cancelled.
    pub(crate) fn apply(&self, read: u64, changes: Changes) {
        let mut cursor = self.cursor.lock();
        if read < cursor.read {
            return;
        }
        if !changes.listings.rows.is_empty() {
            cursor.track_stale(&changes.listings.rows);
            self.index.write().apply(changes.listings);
        }
        let (position, seen) = (changes.position, changes.seen);
        *cursor = EventCursor { read, position, seen, stale: std::mem::take(&mut cursor.stale) };
    }

    /// Replaces the index by one that was built by a read.
    fn replace(&self, read: u64, index: CachingIndex, cursor: EventCursor) {
        let mut current = self.cursor.lock();
        *self.index.write() = index;
        *current = EventCursor { read, ..cursor };
        self.is_filled.store(true, Ordering::Release);
    }

    /// Returns whether all listings were read once. Requests before that wait for it.
    pub(crate) fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    /// Returns the index, for tests.
    #[cfg(test)]
    pub(crate) fn index(&self) -> parking_lot::RwLockReadGuard<'_, CachingIndex> {
        self.index.read()
    }
}
