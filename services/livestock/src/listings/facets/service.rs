//! The service that answers requests for facets and keeps the index up to date.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Caller, Error};
use database::Database;
use parking_lot::{Mutex, RwLock};

use super::exact_filters::Viewer;
use super::model::{Changes, EventCursor};
use super::store;
use super::table::FacetTable;
use crate::categories::Categories;
use crate::listings::search::ListingSearch;

/// How long a request waits for earlier reads of events.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// A request that has waited longer than this for a read that failed does not start another read.
const MAX_WAIT_BEFORE_RETRY: Duration = Duration::from_secs(1);

/// The facets of all listings, and the state of the reads that update them.
#[derive(Default)]
pub struct FacetService {
    table: RwLock<FacetTable>,
    /// The position up to which the table has the events. Locked before `table`.
    cursor: Mutex<EventCursor>,
    /// The number of reads that were started.
    reads_started: AtomicU64,
    /// Held during a read.
    last_read: tokio::sync::Mutex<LastRead>,
}

/// The results of the previous reads.
#[derive(Default)]
struct LastRead {
    /// The number of the last read that succeeded.
    succeeded: u64,
    /// Whether the last read failed.
    failed: bool,
}

impl FacetService {
    /// Returns the facets of a search as JSON.
    ///
    /// # Errors
    /// If the events of listings cannot be read in time.
    pub async fn facets(
        self: &Arc<Self>,
        db: &Database,
        categories: Arc<Categories>,
        caller: Caller,
        search: ListingSearch,
    ) -> Result<String, Error> {
        self.update(db).await?;
        // Waits for no lock: a thread that counts or updates the table may hold it for long.
        if let Some(table) = self.table.try_read()
            && let Some(response) = table.cached(Viewer::from(&caller), &search, &categories)?
        {
            return Ok(response);
        }
        let wishlist = if search.wishlisted {
            let caller = caller.clone();
            Some(db.read(move |c| store::wishlist(c, &caller)).await?)
        } else {
            None
        };
        let service = self.clone();
        let counted = tokio::task::spawn_blocking(move || {
            let table = service.table.read();
            table.facets(Viewer::from(&caller), &search, wishlist.as_deref(), &categories)
        });
        counted.await.map_err(|e| Error::Internal(e.into()))?
    }

    /// Updates the table with the changes that were committed before this call. Calls that arrive during a read share
    /// one later read.
    ///
    /// # Errors
    /// If the events cannot be read in time.
    pub async fn update(self: &Arc<Self>, db: &Database) -> Result<(), Error> {
        let (started, arrival) = (self.reads_started.load(Ordering::SeqCst), Instant::now());
        let timeout = || Error::Unavailable(anyhow::anyhow!("reading the events timed out"), "The database");
        let locked = tokio::time::timeout(READ_TIMEOUT, self.last_read.lock()).await;
        let mut last_read = locked.map_err(|_| timeout())?;
        if last_read.succeeded > started {
            return Ok(());
        }
        if last_read.failed && arrival.elapsed() > MAX_WAIT_BEFORE_RETRY {
            return Err(timeout());
        }
        let number = self.reads_started.fetch_add(1, Ordering::SeqCst) + 1;
        let result = self.read(number, db).await;
        last_read.failed = result.is_err();
        if !last_read.failed {
            last_read.succeeded = number;
        }
        result
    }

    async fn read(self: &Arc<Self>, number: u64, db: &Database) -> Result<(), Error> {
        let cursor = self.cursor.lock().clone();
        let since = cursor.position;
        let changes =
            if since == 0 { None } else { Some(db.read(move |c| store::changes_since(c, &cursor)).await?) };
        match changes {
            Some(changes) if changes.position >= since && changes.rows.is_empty() => {
                self.apply(number, changes);
            }
            Some(changes) if changes.position >= since => {
                let service = self.clone();
                let applied = tokio::task::spawn_blocking(move || service.apply(number, changes));
                applied.await.map_err(|e| Error::Internal(e.into()))?;
            }
            // The position also moves back if a replica of the database that lags behind has taken over.
            _ => self.read_all(number, db).await?,
        }
        Ok(())
    }

    /// Applies the changes that a read returned, unless those of a later read are applied already. That happens if the
    /// request of the earlier read was cancelled.
    pub fn apply(&self, read: u64, changes: Changes) {
        let mut cursor = self.cursor.lock();
        if read < cursor.read {
            return;
        }
        if !changes.rows.is_empty() {
            cursor.track_stale(&changes.rows);
            let mut table = self.table.write();
            table.insert(&changes.rows);
            table.add_spellings(changes.spellings);
            table.add_private_spellings(changes.private_spellings);
        }
        let (position, seen) = (changes.position, changes.seen);
        *cursor = EventCursor { read, position, seen, stale: std::mem::take(&mut cursor.stale) };
    }

    /// Builds a new table from all listings, which are read in pages.
    async fn read_all(&self, read: u64, db: &Database) -> Result<(), Error> {
        let (mut table, mut after) = (FacetTable::default(), None);
        let position = db.read(store::current_position).await?;
        let mut cursor = EventCursor { read, position, ..EventCursor::default() };
        loop {
            let (rows, spellings) = db.read(move |c| store::list_after(c, after)).await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.id);
            cursor.track_stale(&rows);
            table.insert(&rows);
            table.add_private_spellings(spellings);
        }
        let mut term = String::new();
        loop {
            let after = term.clone();
            let spellings = db.read(move |c| store::spellings_after(c, &after)).await?;
            let Some((last, _)) = spellings.last() else { break };
            term.clone_from(last);
            table.add_spellings(spellings);
        }
        let mut current = self.cursor.lock();
        *self.table.write() = table;
        *current = cursor;
        Ok(())
    }

    /// Returns the table, for tests.
    #[cfg(test)]
    pub fn table(&self) -> parking_lot::RwLockReadGuard<'_, FacetTable> {
        self.table.read()
    }
}
