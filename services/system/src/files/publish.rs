//! Sharing files with everybody whose images were not searched for personal metadata yet.

use std::sync::Arc;
use std::time::Duration;

use common::{Error, TenantLimits};
use database::Database;

use super::blob_store::ContentStore;
use super::contents::{remove_retired, remove_unused};
use super::limits::{LargeResponses, LimitedResponse};
use super::privacy::MetadataStripper;
use super::resolve::{Resolution, ResolveJob};
use super::stripped_files::StrippedFiles;

/// How long each run waits for other calls of its tenant. The client may be gone.
const RUN_TIMEOUT: Duration = Duration::from_secs(10);

const RUNS_BUSY: &str = "Too many of your resolve calls are running: try again, one at a time.";
const CHANGED: &str = "The files were changed by another call: try again.";

/// What publishing needs.
pub(super) struct Publisher<'a> {
    pub(super) db: &'a Database,
    pub(super) store: &'a ContentStore,
    pub(super) stripper: &'a MetadataStripper,
    pub(super) large_responses: &'a LargeResponses,
    /// The limits of concurrent runs of each tenant.
    pub(super) resolve_limits: &'a TenantLimits,
    /// The grace period of the sweep.
    pub(super) grace: Duration,
}

impl Publisher<'_> {
    /// Runs a job. If it would make images public that were not searched, stores contents without metadata for those
    /// that need them, and runs it again. Of several calls of a tenant one may run at a time: a retry then finds the
    /// files public, and has nothing to store.
    ///
    /// # Errors
    /// As [`ResolveJob::run`]; 503 if the contents cannot be stored. Contents that no file gets are removed.
    pub(super) async fn publish(&self, job: Arc<ResolveJob>) -> Result<LimitedResponse, Error> {
        let none = Arc::new(StrippedFiles::new(self.grace));
        let unstripped = match self.run(job.clone(), none).await? {
            Resolution::Done(response) => return Ok(response),
            Resolution::Unstripped(files) => files,
        };
        let stripped = self.stripper.strip_stored(self.db, &job.tenant(), unstripped, self.grace).await?;
        let stripped = Arc::new(stripped);
        let result = match self.run(job, stripped.clone()).await {
            Ok(Resolution::Done(response)) => Ok(response),
            Ok(Resolution::Unstripped(_)) => Err(Error::Busy(CHANGED)),
            Err(error) => Err(error),
        };
        // After a commit whose outcome is unknown, the sweep removes what is left.
        if !matches!(result, Err(Error::CommitUnknown(_))) && !stripped.files.is_empty() {
            self.clean_up(&stripped, result.is_ok()).await;
        }
        result
    }

    async fn run(&self, job: Arc<ResolveJob>, stripped: Arc<StrippedFiles>) -> Result<Resolution, Error> {
        let permit = self.resolve_limits.acquire(&job.tenant(), RUN_TIMEOUT).await;
        let permit = permit.ok_or(Error::TenantBusy(RUNS_BUSY))?;
        job.run(self.db, self.large_responses, permit, Some(stripped)).await
    }

    /// Removes the new contents that no file got, and the old ones that no file has any more.
    async fn clean_up(&self, stripped: &StrippedFiles, is_done: bool) {
        let clean_up = async {
            remove_unused(self.db, self.store, stripped.contents.new.clone()).await?;
            if is_done { remove_retired(self.db, self.store).await } else { Ok(()) }
        };
        if let Err(error) = clean_up.await {
            // The sweep removes them later.
            let error = format!("{:#}", anyhow::Error::from(error));
            tracing::warn!(error, "contents that no file has could not be removed");
        }
    }
}
