//! The service that answers requests for facets and keeps the index up to date.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Caller, Error, TenantLimits};
use database::{Database, Id};
use parking_lot::{Mutex, RwLock};

use super::caching_index::CachingIndex;
use super::exact_filters::{ExactFilters, Viewer};
use super::full_read::read_all;
use super::last_read::LastRead;
use super::model::{EventCursor, ListingChanges, StoredMatches};
use super::range_filters::RangeFilters;
use super::store::MAX_LIST_VALUES;
use super::{snapshot, store};
use crate::categories::Categories;
use crate::listings::search::{Audience, ListingSearch};

/// The most listings that are [candidates](FacetService::candidates). A page of words that more listings have is found
/// soon.
const MAX_CANDIDATES: usize = 1_000;
/// How long a request waits for earlier reads of events.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The most requests of a tenant for which the database compares many texts at once.
const MAX_COMPARISONS: usize = 2;
/// How long a request waits for other comparisons of its tenant.
const COMPARISON_TIMEOUT: Duration = Duration::from_secs(5);
/// The message for a tenant that exceeds [`MAX_COMPARISONS`].
const COMPARISONS_BUSY: &str = "Too many counts of listings with these words are running: try again later.";

/// The facets of all listings, and the state of the reads that update them.
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
    /// Limits the comparisons of many texts by the database.
    comparisons: TenantLimits,
}

impl Default for FacetService {
    fn default() -> Self {
        Self {
            index: RwLock::default(),
            cursor: Mutex::default(),
            is_filled: AtomicBool::default(),
            reads_started: AtomicU64::default(),
            last_read: tokio::sync::Mutex::default(),
            comparisons: TenantLimits::new(MAX_COMPARISONS),
        }
    }
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

    /// Returns the listings that a search for words may find, or `None` if they are many. Without this, the database
    /// would read all listings for rare words of two letters.
    ///
    /// # Errors
    /// As [`FacetService::update`].
    pub(crate) async fn candidates(
        self: &Arc<Self>,
        db: &Database,
        search: &ListingSearch,
    ) -> Result<Option<Vec<Id>>, Error> {
        self.update(db).await?;
        let (service, search) = (self.clone(), search.clone());
        let find = move || service.index.read().inner.candidates(&search, MAX_CANDIDATES);
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
            let (service, words, audience) = (self.clone(), search.words.clone(), search.audience);
            let (exact, ranges) = (ExactFilters::of(Viewer::from(caller), search), RangeFilters::of(search));
            let ids = tokio::task::spawn_blocking(move || {
                service.index.read().inner.counted_long_texts(&exact, ranges.as_ref())
            });
            let mut ids = ids.await.map_err(|e| Error::Internal(e.into()))?;
            if let Some(wishlist) = &stored.wishlist {
                let wishlist: HashSet<_> = wishlist.iter().collect();
                ids.retain(|id| wishlist.contains(id));
            }
            stored.long_texts = self.with_all_words(db, caller, ids, words, audience).await?;
        }
        Ok(stored)
    }

    /// Returns those of the listings whose texts have all words. Comparing many takes long, so that each tenant has a
    /// limit.
    async fn with_all_words(
        &self,
        db: &Database,
        caller: &Caller,
        ids: Vec<Id>,
        words: Vec<String>,
        audience: Audience,
    ) -> Result<HashSet<Id>, Error> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let _permit = if ids.len() > MAX_LIST_VALUES {
            let permit = self.comparisons.acquire(&caller.tenant(), COMPARISON_TIMEOUT).await;
            Some(permit.ok_or(Error::TenantBusy(COMPARISONS_BUSY))?)
        } else {
            None
        };
        db.read(move |c| store::with_all_words(c, &ids, &words, audience)).await
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
            return Ok(());
        }
        // Page by page: the texts of thousands of listings take much memory.
        for ids in changes.listings.chunks(MAX_LIST_VALUES) {
            let (service, ids) = (self.clone(), ids.to_vec());
            let page = db.read(move |c| store::listings(c, &ids)).await?;
            let applied = tokio::task::spawn_blocking(move || service.apply(number, page));
            applied.await.map_err(|e| Error::Internal(e.into()))?;
        }
        self.finish(number, changes.position, changes.seen);
        Ok(())
    }

    /// Applies a page of the listings that a read returned, unless a later read has changed the index already. That
    /// happens if the request of the earlier read was cancelled. The later read has the same listings: it began at the
    /// same position.
    pub(crate) fn apply(&self, read: u64, listings: ListingChanges) {
        let mut cursor = self.cursor.lock();
        if read < cursor.read {
            return;
        }
        cursor.read = read;
        cursor.track_stale(&listings.rows);
        self.index.write().apply(listings);
    }

    /// Moves the cursor to the end of a read whose listings are all applied.
    fn finish(&self, read: u64, position: i64, seen: HashSet<i64>) {
        let mut cursor = self.cursor.lock();
        if read >= cursor.read {
            *cursor = EventCursor { read, position, seen, stale: std::mem::take(&mut cursor.stale) };
        }
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
