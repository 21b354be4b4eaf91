//! Sharing files with everybody: before images become public, their contents without personal metadata are stored
//! (`docs/api/files.md`, "Privacy").

use std::sync::Arc;
use std::time::Duration;

use common::{Error, TenantLimits};
use database::Database;

use super::blob_store::{BlobName, BlobStore};
use super::limits::{LargeResponses, LimitedResponse};
use super::model::File;
use super::privacy::{MetadataStripper, StrippedFile, StrippedFiles};
use super::resolve::{Resolution, ResolveJob};
use super::store::blobs::find_usable_names;
use super::sweep::{remove_retired, remove_unused};

/// How long each run waits for other calls of its tenant. The client may be gone.
const RUN_TIMEOUT: Duration = Duration::from_secs(10);

const RUNS_BUSY: &str = "Too many of your resolve calls are running: try again, one at a time.";
const CHANGED: &str = "The files were changed by another call: try again.";

/// What publishing needs.
pub(super) struct Publisher<'a> {
    pub(super) db: &'a Database,
    pub(super) blob_store: &'a BlobStore,
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
    /// As [`ResolveJob::run`]; 503 if the contents cannot be stored. Blobs that no file gets are removed.
    pub(super) async fn publish(&self, job: Arc<ResolveJob>) -> Result<LimitedResponse, Error> {
        let none = Arc::new(StrippedFiles::new(self.grace));
        let unstripped = match self.run(job.clone(), none).await? {
            Resolution::Done(response) => return Ok(response),
            Resolution::Unstripped(files) => files,
        };
        let stripped = self.strip(&job.tenant(), unstripped).await?;
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

    /// Stores contents without metadata for these files. On an error, removes those that were stored.
    ///
    /// # Errors
    /// 500 if a blob is missing; 503 if the database, the blob store or the disk is unavailable, or too many
    /// images are being searched.
    async fn strip(&self, tenant: &str, files: Vec<(File, BlobName)>) -> Result<StrippedFiles, Error> {
        let mut stripped = StrippedFiles::new(self.grace);
        for (file, name) in files {
            if let Err(error) = self.add(tenant, file, &name, &mut stripped).await {
                stripped.blobs.discard(self.blob_store).await;
                return Err(error);
            }
        }
        Ok(stripped)
    }

    async fn add(
        &self,
        tenant: &str,
        file: File,
        name: &BlobName,
        stripped: &mut StrippedFiles,
    ) -> Result<(), Error> {
        let size = file.size.cast_unsigned();
        let content = Arc::new(self.blob_store.open_blob(name, size).await?);
        if let Some(content) = self.stripper.strip(tenant, content, size, &file).await? {
            let (hash, size) = (content.hash.clone(), content.size.cast_signed());
            let hashes = [hash.clone()];
            let mut names = self.db.read(move |c| find_usable_names(c, &hashes)).await?;
            stripped.blobs.add(self.blob_store, content, names.remove(&hash)).await?;
            stripped.files.push(StrippedFile { id: file.id, from: file.hash, hash, size });
        }
        stripped.examined.push(file.id);
        Ok(())
    }

    async fn run(&self, job: Arc<ResolveJob>, stripped: Arc<StrippedFiles>) -> Result<Resolution, Error> {
        let permit = self.resolve_limits.acquire(&job.tenant(), RUN_TIMEOUT).await;
        let permit = permit.ok_or(Error::TenantBusy(RUNS_BUSY))?;
        job.run(self.db, self.large_responses, permit, Some(stripped)).await
    }

    /// Removes the new blobs that no file got, and the old ones that no file has any more.
    async fn clean_up(&self, stripped: &StrippedFiles, is_done: bool) {
        let clean_up = async {
            remove_unused(self.db, self.blob_store, stripped.blobs.new.clone()).await?;
            if is_done { remove_retired(self.db, self.blob_store).await } else { Ok(()) }
        };
        if let Err(error) = clean_up.await {
            // The sweep removes them later.
            let error = format!("{:#}", anyhow::Error::from(error));
            tracing::warn!(error, "contents that no file has could not be removed");
        }
    }
}
