//! Batches: imports of loads from CSV and XLSX files, all or none (docs/api/batches.md).
//!
//! 1. [`receive`] writes the uploaded files to temporary files.
//! 2. [`validate`] reads all rows, collects what is wrong with them, and writes valid ones to other temporary files.
//! 3. [`ReadBatch`] compares them with loads where the answer depends on that, and answers dry runs.
//! 4. [`prepare_import`] stores the loads of a large import on SQLite, hidden, in several transactions.
//! 5. [`PreparedImport::commit`](prepared_import::PreparedImport::commit) checks the rows again and, in one
//!    transaction, edits loads, and stores the loads of other imports or makes the hidden ones visible.

mod corrections;
mod detect;
mod existing;
mod faults;
mod header;
mod headings;
mod model;
mod options;
mod plan;
mod planner;
mod prepared_import;
mod read_batch;
mod recognised;
mod row;
mod second_reading;
mod spooled_import;
mod store;
mod table;
mod template;
mod update;
mod upload;
mod validator;
mod warnings;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use common::{Error, FairLimiter, FairPermit, SchemaValidator, TenantLimits};
use database::Id;
use parking_lot::Mutex;
use tables::TableLimits;
use tokio::sync::Notify;

pub(super) use model::BatchResult;
pub(super) use options::SheetFormat;
pub(super) use prepared_import::prepare_import;
pub(crate) use prepared_import::run_large_imports;
pub(super) use read_batch::{Parts, ReadBatch};
pub(super) use template::workbook as template;
pub(super) use upload::{LoadBatchForm, UploadedFile, receive};
pub(super) use validator::validate;

use crate::Settings;
use crate::loads::form::BatchRow;

/// The number of batches that are validated at a time. Each takes a core and some memory.
const MAX_CONCURRENT_BATCHES: usize = 2;
/// How many of these may belong to one tenant.
const MAX_CONCURRENT_PER_TENANT: usize = 1;
/// The number of batches of a tenant that may wait. Their files are in the temporary folder.
const MAX_WAITING: usize = 8;
/// How long a batch waits for its turn.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The schemas and limits that all batches share.
pub(crate) struct Batches {
    form: SchemaValidator<LoadBatchForm>,
    row: SchemaValidator<BatchRow>,
    turns: FairLimiter,
    waiting: TenantLimits,
    max_files: usize,
    limits: TableLimits,
    /// The large imports of this process that have not ended.
    running: Arc<Mutex<HashSet<Id>>>,
    /// Wakes [`run_large_imports`].
    ended: Arc<Notify>,
}

impl Batches {
    /// Compiles the schemas.
    ///
    /// # Errors
    /// If a schema does not compile, which is a bug.
    pub(crate) fn new(settings: &Settings) -> anyhow::Result<Self> {
        Ok(Self {
            form: SchemaValidator::new()?,
            row: SchemaValidator::new()?,
            turns: FairLimiter::new(MAX_CONCURRENT_BATCHES, MAX_CONCURRENT_PER_TENANT),
            waiting: TenantLimits::new(MAX_WAITING),
            max_files: settings.batch_files,
            limits: TableLimits { rows: settings.batch_rows, bytes: settings.batch_bytes },
            running: Arc::default(),
            ended: Arc::default(),
        })
    }

    /// Waits for the tenant's turn and runs `work` on a blocking thread. Returns its result and the permit.
    ///
    /// # Errors
    /// 503 if too many batches of the tenant wait or the turn does not come in time, and errors of `work`.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        tenant: String,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<(T, FairPermit), Error> {
        let waiting = self.waiting.try_acquire(&tenant);
        let waiting = waiting.ok_or_else(|| busy("too many batches of the tenant are waiting"))?;
        let permit = self.turns.acquire(&tenant, WAIT_TIMEOUT).await;
        let permit = permit.map_err(|_| busy("the turn of the batch did not come in time"))?;
        drop(waiting);
        // The permit is held until the work is done, even if the client disconnects.
        let work = move || Ok((work()?, permit));
        tokio::task::spawn_blocking(work).await.map_err(|e| Error::Internal(e.into()))?
    }
}

/// Logs the reason and returns 503.
fn busy(reason: &str) -> Error {
    tracing::warn!(reason, "refused a batch because of too many others");
    Error::Busy("Too many batches are being validated and nothing was changed: try again later.")
}
