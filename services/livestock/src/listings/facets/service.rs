//! The service that answers requests for facets and keeps the index up to date.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Caller, Error, TenantLimits};
use database::{Database, Id};
use parking_lot::{Mutex, RwLock};

use super::filters::{SearchFilters, Viewer};
use super::index::FacetIndex;
use super::model::{EventCursor, ListingChanges, StoredMatches};
use super::store::{self, MAX_LIST_VALUES};
use crate::categories::Categories;
use crate::listings::search::ListingSearch;

/// The most listings that are [candidates](FacetService::candidates). A page of words that more listings have is found
/// soon.
const MAX_CANDIDATES: usize = 1_000;
/// A request that has waited longer than this for a read that failed does not start another read.
const MAX_WAIT_BEFORE_RETRY: Duration = Duration::from_secs(1);
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
    index: RwLock<FacetIndex>,
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
        let filters = SearchFilters::for_viewer(Viewer::from(&caller), &search);
        // Waits for no lock: a thread that counts or updates the index may hold it for long.
        if !search.wishlisted
            && filters.is_cached()
            && let Some(response) = self.index.try_read().and_then(|index| index.cached(&filters))
        {
            return Ok(response);
        }
        let filters = Arc::new(filters);
        let stored = self.stored_matches(db, &caller, search.wishlisted, &filters).await?;
        let service = self.clone();
        let counted =
            tokio::task::spawn_blocking(move || service.index.read().facets(&filters, &stored, &categories));
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
        // The search compares who may see the found listings.
        let filters = SearchFilters::for_viewer(Viewer { organisation_id: "", admin: true }, search);
        let service = self.clone();
        let find = move || service.index.read().candidates(&filters, MAX_CANDIDATES);
        tokio::task::spawn_blocking(find).await.map_err(|e| Error::Internal(e.into()))
    }

    /// Reads what only the database knows of a search: the wishlist, and which of the long texts have its words.
    async fn stored_matches(
        self: &Arc<Self>,
        db: &Database,
        caller: &Caller,
        wishlisted: bool,
        filters: &Arc<SearchFilters>,
    ) -> Result<StoredMatches, Error> {
        let mut stored = StoredMatches::default();
        if wishlisted {
            let caller = caller.clone();
            stored.wishlist = Some(db.read(move |c| store::wishlist(c, &caller)).await?);
        }
        if !filters.words.is_empty() {
            let (service, compared) = (self.clone(), filters.clone());
            let ids = tokio::task::spawn_blocking(move || service.index.read().counted_long_texts(&compared));
            let mut ids = ids.await.map_err(|e| Error::Internal(e.into()))?;
            if let Some(wishlist) = &stored.wishlist {
                let wishlist: HashSet<_> = wishlist.iter().collect();
                ids.retain(|id| wishlist.contains(id));
            }
            stored.long_texts = self.with_all_words(db, caller, ids, filters).await?;
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
        filters: &Arc<SearchFilters>,
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
        let filters = filters.clone();
        db.read(move |c| store::with_all_words(c, &ids, &filters.words, filters.audience)).await
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

    /// Reads the new events and applies them to the index. Fills the index first from all listings.
    async fn read(self: &Arc<Self>, number: u64, db: &Database) -> Result<(), Error> {
        let cursor = self.cursor.lock().clone();
        let since = cursor.position;
        if since == 0 {
            let started = Instant::now();
            let (index, cursor) = read_all(db).await?;
            let (listings, seconds) = (index.len(), started.elapsed().as_secs_f64());
            self.replace(number, index, cursor);
            tracing::info!(listings, seconds, "the facet index is complete");
            return Ok(());
        }
        let changes = db.read(move |c| store::changes_since(c, &cursor)).await?;
        if changes.position < since {
            // A replica of the database that lags behind has taken over.
            let (index, cursor) = read_all(db).await?;
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
        // A row that an older release has written may get a spelling without a change of its columns.
        let has_stale = !cursor.stale.is_empty();
        cursor.track_stale(&listings.rows);
        let mut index = self.index.write();
        if has_stale {
            index.clear_cache();
        }
        index.apply(listings);
    }

    /// Moves the cursor to the end of a read whose listings are all applied.
    fn finish(&self, read: u64, position: i64, seen: HashSet<i64>) {
        let mut cursor = self.cursor.lock();
        if read >= cursor.read {
            *cursor = EventCursor { read, position, seen, stale: std::mem::take(&mut cursor.stale) };
        }
    }

    /// Replaces the index by one that was built by a read.
    fn replace(&self, read: u64, index: FacetIndex, cursor: EventCursor) {
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
    pub(crate) fn index(&self) -> parking_lot::RwLockReadGuard<'_, FacetIndex> {
        self.index.read()
    }
}

/// Builds an index from all listings, which are read in pages. The next page is read while one is indexed.
///
/// # Errors
/// If the database fails.
async fn read_all(db: &Database) -> Result<(FacetIndex, EventCursor), Error> {
    let mut index = FacetIndex::default();
    let mut cursor =
        EventCursor { position: db.read(store::current_position).await?, ..EventCursor::default() };
    let mut page = db.read(|c| store::list_after(c, None)).await?;
    while let Some(last) = page.rows.last() {
        let after = last.id;
        cursor.track_stale(&page.rows);
        let (next, applied) =
            tokio::join!(db.read(move |c| store::list_after(c, Some(after))), apply(index, page));
        (page, index) = (next?, applied?);
    }
    let mut term = String::new();
    loop {
        let after = term.clone();
        let spellings = db.read(move |c| store::spellings_after(c, &after)).await?;
        let Some((last, _)) = spellings.last() else { break };
        term.clone_from(last);
        index.add_spellings(spellings);
    }
    index.finish_reading();
    Ok((index, cursor))
}

/// Applies changes to an index on a blocking thread.
///
/// # Errors
/// 500 if the index panics.
async fn apply(mut index: FacetIndex, changes: ListingChanges) -> Result<FacetIndex, Error> {
    let applied = tokio::task::spawn_blocking(move || {
        index.apply(changes);
        index
    });
    applied.await.map_err(|e| Error::Internal(e.into()))
}

/// The results of the previous reads.
#[derive(Default)]
struct LastRead {
    /// The number of the last read that succeeded.
    succeeded: u64,
    /// The failure of the last read; `None` if it succeeded.
    failure: Option<ReadFailure>,
}

impl LastRead {
    /// Records the result of a read.
    fn record(&mut self, number: u64, result: &Result<(), Error>) {
        match result {
            Ok(()) => *self = Self { succeeded: number, failure: None },
            Err(error) => self.failure = Some(ReadFailure::of(error)),
        }
    }

    /// Returns the result that earlier reads have for a request, or `None` if the request must start a read. `started`
    /// is the number of reads that were started before the request, `waited` the time since its arrival.
    fn result_for(&self, started: u64, waited: Duration) -> Option<Result<(), Error>> {
        if self.succeeded > started {
            return Some(Ok(()));
        }
        let failure = self.failure.as_ref().filter(|_| waited > MAX_WAIT_BEFORE_RETRY)?;
        Some(Err(failure.to_error()))
    }
}

/// The failure of a read, for the requests that waited for the read.
struct ReadFailure {
    /// The cause, for the log.
    cause: String,
    /// The dependency that was unavailable; `None` for an internal error.
    dependency: Option<&'static str>,
}

impl ReadFailure {
    fn of(error: &Error) -> Self {
        let (cause, dependency) = match error {
            Error::Unavailable(cause, dependency) => (format!("{cause:#}"), Some(*dependency)),
            Error::Internal(cause) => (format!("{cause:#}"), None),
            other => (other.to_string(), None),
        };
        Self { cause, dependency }
    }

    /// Returns the error of a request that waited: 503 for an unavailable dependency, 500 for an internal error.
    fn to_error(&self) -> Error {
        let cause = anyhow::anyhow!("reading the events failed for an earlier request: {}", self.cause);
        match self.dependency {
            Some(dependency) => Error::Unavailable(cause, dependency),
            None => Error::Internal(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(2);

    #[test]
    fn requests_that_waited_for_a_failed_read_get_its_failure() {
        let mut last_read = LastRead::default();
        let unavailable = || Error::Unavailable(anyhow::anyhow!("connection refused"), "The database");
        last_read.record(1, &Err(unavailable()));
        assert!(last_read.result_for(0, Duration::ZERO).is_none(), "starts a read of its own");
        let Some(Err(Error::Unavailable(cause, "The database"))) = last_read.result_for(0, LONG) else {
            panic!("no 503")
        };
        let cause = format!("{cause:#}");
        assert!(cause.contains("connection refused") && !cause.contains("timed out"), "{cause}");
        last_read.record(2, &Err(Error::Internal(anyhow::anyhow!("no such column"))));
        let Some(Err(Error::Internal(cause))) = last_read.result_for(0, LONG) else { panic!("no 500") };
        assert!(format!("{cause:#}").contains("no such column"), "{cause:#}");
    }

    #[test]
    fn requests_share_a_read_that_started_after_their_arrival() {
        let mut last_read = LastRead::default();
        last_read.record(1, &Err(Error::Internal(anyhow::anyhow!("no such column"))));
        last_read.record(2, &Ok(()));
        assert!(matches!(last_read.result_for(1, LONG), Some(Ok(()))));
        assert!(last_read.result_for(2, LONG).is_none(), "the read started before the request");
    }
}
