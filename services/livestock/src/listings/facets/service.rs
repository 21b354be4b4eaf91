//! The service that answers requests for facets and keeps the index up to date.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Caller, Error, TenantLimits};
use database::{Database, Id};
use parking_lot::RwLock;
use tracing::Instrument;

use super::counts::MapCounts;
use super::filters::{SearchFilters, ShownSuspended, Viewer};
use super::index::FacetIndex;
use super::model::{EventCursor, StoredMatches};
use super::store::{self, MAX_LIST_VALUES};
use crate::categories::Categories;
use crate::listings::events::store::current_position;
use crate::listings::search::{Candidates, ListingSearch};
use crate::listings::store::{has_stale_rows, rebuild_stale_rows};
use crate::organisations::list_suspended;

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
    /// The suspended organisations that the index has.
    suspended: RwLock<BTreeSet<String>>,
    /// Held during a read.
    reads: Arc<tokio::sync::Mutex<Reads>>,
    /// Whether the index was filled once.
    is_filled: AtomicBool,
    /// Limits the comparisons of many texts by the database.
    comparisons: TenantLimits,
}

/// The reads of listings that update the index.
#[derive(Debug, Default)]
struct Reads {
    /// The position up to which the index has the events.
    cursor: EventCursor,
    /// The start of the last read that succeeded.
    last_success: Option<Instant>,
    /// Whether the last read failed.
    has_failed: bool,
}

impl Reads {
    /// Returns the result that earlier reads have for a request that arrived at this time, or `None` if the request
    /// must start a read.
    fn result_for(&self, arrival: Instant) -> Option<Result<(), Error>> {
        if self.last_success.is_some_and(|started| started > arrival) {
            return Some(Ok(()));
        }
        let is_late = self.has_failed && arrival.elapsed() > MAX_WAIT_BEFORE_RETRY;
        is_late.then(|| Err(unavailable("a read of the events failed while this request waited for it")))
    }

    /// Records the result of a read.
    fn record(&mut self, started: Instant, is_successful: bool) {
        self.has_failed = !is_successful;
        if is_successful {
            self.last_success = Some(started);
        }
    }
}

/// Returns 503 for requests that wait for a read of the events.
fn unavailable(cause: &'static str) -> Error {
    Error::Unavailable(anyhow::anyhow!(cause), "The database")
}

impl Default for FacetService {
    fn default() -> Self {
        Self {
            index: RwLock::default(),
            suspended: RwLock::default(),
            reads: Arc::default(),
            is_filled: AtomicBool::default(),
            comparisons: TenantLimits::new(MAX_COMPARISONS),
        }
    }
}

/// Fills the texts that the previous release left out, if the search is for words.
async fn fill_texts(db: &Database, search: &ListingSearch) -> Result<(), Error> {
    if !search.words.is_empty() && db.read(has_stale_rows).await? {
        rebuild_stale_rows(db).await?;
    }
    Ok(())
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
        fill_texts(db, &search).await?;
        self.update(db).await?;
        let viewer = Viewer { organisation_id: caller.organisation_id_or_empty(), admin: caller.admin };
        let filters = self.filters(viewer, &search);
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
        blocking(move || service.index.read().facets(&filters, &stored, &categories)).await?
    }

    /// Counts the listings of a search on a map: those without coordinates and, with a zoom, those with coordinates in
    /// each cell.
    ///
    /// # Errors
    /// As [`FacetService::facets`].
    pub(crate) async fn map(
        self: &Arc<Self>,
        db: &Database,
        caller: &Caller,
        search: &ListingSearch,
    ) -> Result<MapCounts, Error> {
        self.update(db).await?;
        let viewer = Viewer { organisation_id: caller.organisation_id_or_empty(), admin: caller.admin };
        let filters = Arc::new(self.filters(viewer, search));
        let stored = self.stored_matches(db, caller, search.wishlisted, &filters).await?;
        let (service, zoom) = (self.clone(), search.cluster_zoom);
        blocking(move || service.index.read().map(&filters, &stored, zoom)).await
    }

    /// Returns the listings that a search in a box, or for words that no index of the database has, may find; or how
    /// many, if they are many. Without this, the database would read all listings for rare words of two letters and for
    /// small boxes.
    ///
    /// # Errors
    /// As [`FacetService::update`].
    pub(crate) async fn candidates(
        self: &Arc<Self>,
        db: &Database,
        search: &ListingSearch,
    ) -> Result<Candidates, Error> {
        fill_texts(db, search).await?;
        if !search.has_short_words_only() && search.bbox.is_none() {
            return Ok(Candidates::Unknown);
        }
        self.update(db).await?;
        // The search compares who may see the found listings.
        let mut filters = SearchFilters::for_viewer(Viewer { organisation_id: "", admin: true }, search);
        filters.exact.suspended = ShownSuspended::All;
        let service = self.clone();
        blocking(move || service.index.read().candidates(&filters, MAX_CANDIDATES)).await
    }

    /// Returns the filters of a viewer's search, which shows the viewer's own listings also while they are suspended.
    fn filters(&self, viewer: Viewer<'_>, search: &ListingSearch) -> SearchFilters {
        let mut filters = SearchFilters::for_viewer(viewer, search);
        if self.suspended.read().contains(viewer.organisation_id) {
            filters.exact.suspended = ShownSuspended::Of(viewer.organisation_id.to_owned());
        }
        filters
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
        if filters.words.is_empty() {
            return Ok(stored);
        }
        let (service, compared) = (self.clone(), filters.clone());
        let mut ids = blocking(move || service.index.read().long_texts_to_compare(&compared)).await?;
        if let Some(wishlist) = &stored.wishlist {
            let wishlist: HashSet<_> = wishlist.iter().collect();
            ids.retain(|id| wishlist.contains(id));
        }
        // Comparing many texts takes long, so that each tenant has a limit.
        let _permit = if ids.len() > MAX_LIST_VALUES {
            let permit = self.comparisons.acquire(&caller.tenant(), COMPARISON_TIMEOUT).await;
            Some(permit.ok_or(Error::TenantBusy(COMPARISONS_BUSY))?)
        } else {
            None
        };
        if !ids.is_empty() {
            let filters = filters.clone();
            let compare = move |c: &mut _| store::with_all_words(c, &ids, &filters.words, filters.audience);
            stored.long_texts = db.read(compare).await?;
        }
        Ok(stored)
    }

    /// Updates the index with the changes that were committed before this call. Calls that arrive during a read share
    /// one later read.
    ///
    /// # Errors
    /// 503 if the database is unavailable, or if earlier reads take too long. 500 for other failures of a read.
    pub(crate) async fn update(self: &Arc<Self>, db: &Database) -> Result<(), Error> {
        let arrival = Instant::now();
        let locked = tokio::time::timeout(READ_TIMEOUT, self.reads.clone().lock_owned()).await;
        let mut reads = locked.map_err(|_| unavailable("waiting for a read of the events timed out"))?;
        if let Some(result) = reads.result_for(arrival) {
            return result;
        }
        let (service, db) = (self.clone(), db.clone());
        // In a task of its own, which goes on if the request is cancelled: no read overtakes another.
        let read = async move {
            let started = Instant::now();
            let result = service.read(&mut reads.cursor, &db).await;
            reads.record(started, result.is_ok());
            result
        };
        tokio::spawn(read.in_current_span()).await.map_err(|e| Error::Internal(e.into()))?
    }

    /// Reads the new events and applies them to the index. Fills the index first from all listings.
    async fn read(self: &Arc<Self>, cursor: &mut EventCursor, db: &Database) -> Result<(), Error> {
        if cursor.position > 0 {
            let current = cursor.clone();
            let read = move |c: &mut _| {
                let suspended = list_suspended(c)?;
                store::changes_since(c, &current).map(|(next, ids)| (next, ids, suspended))
            };
            let (next, ids, suspended) = db.read(read).await?;
            if next.position >= cursor.position {
                self.set_suspended(suspended).await?;
                *cursor = self.apply_changes(next, &ids, db).await?;
                return Ok(());
            }
            // A replica of the database that lags behind has taken over.
        }
        let started = Instant::now();
        let (mut index, end) = read_all(db).await?;
        let suspended = db.read(list_suspended).await?;
        index.set_suspended(suspended.clone());
        *self.suspended.write() = suspended;
        let (listings, seconds) = (index.len(), started.elapsed().as_secs_f64());
        (*self.index.write(), *cursor) = (index, end);
        self.is_filled.store(true, Ordering::Release);
        tracing::info!(listings, seconds, "the facet index is complete");
        Ok(())
    }

    /// Sets the suspended organisations, if they are others than before.
    async fn set_suspended(self: &Arc<Self>, suspended: BTreeSet<String>) -> Result<(), Error> {
        if *self.suspended.read() == suspended {
            return Ok(());
        }
        let service = self.clone();
        blocking(move || {
            service.index.write().set_suspended(suspended.clone());
            *service.suspended.write() = suspended;
        })
        .await
    }

    /// Applies the present state of changed listings to the index, page by page: the texts of thousands of listings
    /// take much memory. Returns the cursor after the changes.
    async fn apply_changes(
        self: &Arc<Self>,
        mut cursor: EventCursor,
        ids: &[Id],
        db: &Database,
    ) -> Result<EventCursor, Error> {
        for ids in ids.chunks(MAX_LIST_VALUES) {
            let (service, ids) = (self.clone(), ids.to_vec());
            let page = db.read(move |c| store::listings(c, &ids)).await?;
            // A row that an older release has written may get a spelling without a change of its columns.
            let has_stale = !cursor.stale.is_empty();
            cursor.track_stale(&page.rows);
            blocking(move || {
                let mut index = service.index.write();
                if has_stale {
                    index.clear_cache();
                }
                index.apply(page);
            })
            .await?;
        }
        Ok(cursor)
    }

    /// Returns whether all listings were read once. Requests before that wait for it.
    pub(crate) fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }
}

/// Builds an index from all listings, which are read in pages. The next page is read while one is indexed.
///
/// # Errors
/// If the database fails.
async fn read_all(db: &Database) -> Result<(FacetIndex, EventCursor), Error> {
    let mut index = FacetIndex::default();
    let mut cursor = EventCursor { position: db.read(current_position).await?, ..EventCursor::default() };
    let mut page = db.read(|c| store::list_after(c, None)).await?;
    while let Some(last) = page.rows.last() {
        let after = last.id;
        cursor.track_stale(&page.rows);
        let apply = blocking(move || {
            index.apply(page);
            index
        });
        let (next, applied) = tokio::join!(db.read(move |c| store::list_after(c, Some(after))), apply);
        (page, index) = (next?, applied?);
    }
    let mut spellings = db.read(|c| store::spellings_after(c, "")).await?;
    while let Some(last) = spellings.last() {
        let after = last.term.clone();
        index.add_spellings(spellings);
        spellings = db.read(move |c| store::spellings_after(c, &after)).await?;
    }
    Ok((index, cursor))
}

/// Runs a function that takes long on a thread for such functions.
///
/// # Errors
/// 500 if it panics.
async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(f).await.map_err(|e| Error::Internal(e.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_share_reads_that_started_after_their_arrival_and_late_failures() {
        let now = Instant::now();
        let mut reads = Reads::default();
        assert!(reads.result_for(now).is_none());
        reads.record(now, true);
        let earlier = now.checked_sub(MAX_WAIT_BEFORE_RETRY).unwrap();
        assert!(matches!(reads.result_for(earlier), Some(Ok(()))) && reads.result_for(now).is_none());
        let mut reads = Reads::default();
        reads.record(now, false);
        assert!(reads.result_for(now).is_none());
        assert!(matches!(reads.result_for(earlier), Some(Err(Error::Unavailable(..)))));
    }
}
