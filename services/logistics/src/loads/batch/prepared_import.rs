//! Prepares an import for its transaction. The loads of a large one on SQLite are stored before it
//! (`loads::store::staged`): hidden, in several transactions between which other writes run. The transaction then makes
//! them visible.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use common::{Error, FailureStreak, JsonResponse};
use database::{AnyConnection, Database, Id};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;
use webhooks::Webhooks;

use super::Batches;
use super::plan::Purpose;
use super::planner::StoredImport;
use super::read_batch::{Parts, Preview, ReadBatch};
use super::spooled_import::SpooledImport;
use super::store::IMPORT_RUNNING;
use crate::commodities::Catalogue;
use crate::loads::store::{
    LoadRow, announce, begin_import, discard, finish_import, has_unannounced, running_imports, stage,
};

/// Imports of at most so many loads are stored in one transaction.
const MAX_SMALL_IMPORT: usize = 1_000;
/// The most loads that one transaction of a large import stores, if no other write waits. They are in memory.
const ROWS_PER_TRANSACTION: usize = 5_000;
/// The longest pause between two checks for loads to announce or to delete.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The hidden loads of an import. [`run_large_imports`] deletes them if this is dropped before the import is finished.
pub(super) struct LargeImport {
    id: Id,
    /// Which rows were stored.
    is_new: Vec<bool>,
    running: Arc<Mutex<HashSet<Id>>>,
    ended: Arc<Notify>,
}

impl LargeImport {
    fn new(batches: &Batches, is_new: Vec<bool>) -> Self {
        let id = Id::new();
        batches.running.lock().insert(id);
        Self { id, is_new, running: batches.running.clone(), ended: batches.ended.clone() }
    }

    /// Makes the loads visible.
    ///
    /// # Errors
    /// 503 if other rows are new than before, because another request stored some of the loads meanwhile, or if loads
    /// are gone.
    pub(super) fn finish(&self, c: &mut AnyConnection, is_new: &[bool]) -> Result<(), Error> {
        if is_new != self.is_new {
            return Err(Error::Busy(IMPORT_RUNNING));
        }
        finish_import(c, self.id, self.is_new.iter().filter(|is_new| **is_new).count())
    }
}

/// An import to be stored in the transaction of the request.
pub(crate) struct PreparedImport {
    import: Arc<Mutex<SpooledImport>>,
    /// The loads that are stored already, of a large import on SQLite.
    large: Option<LargeImport>,
    /// The answer to a dry run.
    dry_run: Option<JsonResponse>,
}

impl PreparedImport {
    /// Stores all loads, or makes them visible. Does neither for a dry run. Can be called again if the transaction is
    /// retried.
    ///
    /// # Errors
    /// Those of [`SpooledImport::commit`] and [`LargeImport::finish`].
    pub(crate) fn commit(&self, c: &mut AnyConnection, catalogue: &Catalogue) -> Result<StoredImport, Error> {
        if let Some(answer) = &self.dry_run {
            return Ok(StoredImport { response: answer.clone(), shares: Vec::new(), new_loads: 0 });
        }
        self.import.lock().commit(c, catalogue, |import, c, is_new| match &self.large {
            Some(large) => large.finish(c, is_new),
            None => import.insert(c, is_new),
        })
    }
}

impl Drop for LargeImport {
    fn drop(&mut self) {
        self.running.lock().remove(&self.id);
        self.ended.notify_one();
    }
}

/// Prepares an import for its transaction: stores the loads of a large import on SQLite, hidden. Answers a dry run.
///
/// # Errors
/// Those of [`SpooledImport::commit`].
pub(crate) async fn prepare_import(app: Parts<'_>, batch: ReadBatch) -> Result<PreparedImport, Error> {
    let (db, batches) = (app.db, app.batches);
    let Preview { import, checked } = batch.preview(app).await?;
    let is_large = db.is_sqlite() && import.lock().rows_to_store() > MAX_SMALL_IMPORT;
    if let Some(checked) = checked.as_ref().filter(|_| import.lock().dry_run) {
        let dry_run = import.lock().answer(checked, &checked.is_new())?;
        return Ok(PreparedImport { import, large: None, dry_run: Some(dry_run) });
    }
    if !is_large {
        return Ok(PreparedImport { import, large: None, dry_run: None });
    }
    // Imports of an organisation run one after the other, so that other requests wait for no lock.
    let (planned, catalogue) = (import.clone(), app.commodities.clone());
    let plan = move |c: &mut AnyConnection| {
        let import = planned.lock();
        let found;
        let checked = if let Some(checked) = &checked {
            checked
        } else {
            found = import.check(c, &catalogue, Purpose::Preview)?;
            &found
        };
        import.refuse(c, checked)?;
        Ok::<_, Error>(checked.is_new())
    };
    let is_new = db.read(plan).await?;
    if !is_new.contains(&true) {
        return Ok(PreparedImport { import, large: None, dry_run: None });
    }
    let mut rows = import.lock().rows(is_new.clone())?;
    let large = LargeImport::new(batches, is_new);
    let id = large.id;
    db.write(move |c| begin_import(c, id)).await?;
    loop {
        let next =
            move || (rows.by_ref().take(ROWS_PER_TRANSACTION).collect::<Result<Vec<LoadRow>, Error>>(), rows);
        let (part, rest) = tokio::task::spawn_blocking(next).await.map_err(|e| Error::Internal(e.into()))?;
        let part = Arc::new(part?);
        rows = rest;
        if part.is_empty() {
            break;
        }
        let mut stored = 0;
        while stored < part.len() {
            let (part, database) = (part.clone(), db.clone());
            let store = move |c: &mut _| stage(c, id, &part[stored..], || database.has_waiting_writes());
            stored += db.write(store).await?;
        }
    }
    Ok(PreparedImport { import, large: Some(large), dry_run: None })
}

/// Announces the loads of large imports, and deletes those of imports that failed, as long as the service runs. Returns
/// at once on PostgreSQL.
pub(crate) async fn run_large_imports(db: &Database, batches: &Batches, webhooks: &Webhooks) {
    let mut failures = FailureStreak::default();
    while db.is_sqlite() {
        if let Some(error) = failures.first(&finish_ended(db, batches, webhooks).await) {
            tracing::warn!(
                error = format!("{error:?}"),
                "loads of imports could not be announced or deleted"
            );
        }
        _ = timeout(POLL_INTERVAL, batches.ended.notified()).await;
    }
}

async fn finish_ended(db: &Database, batches: &Batches, webhooks: &Webhooks) -> Result<(), Error> {
    while db.read(has_unannounced).await? {
        if db.write(announce).await? > 0 {
            webhooks.wake();
        }
    }
    for import in db.read(running_imports).await? {
        // Checked after the import was read: it is among the running ones before it is in the database.
        if !batches.running.lock().contains(&import) {
            while db.write(move |c| discard(c, import)).await? {}
        }
    }
    Ok(())
}
