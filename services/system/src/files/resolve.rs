//! Resolving files, and sharing them, in one database call.

use std::sync::Arc;

use common::Error;
use database::{AnyConnection, Database, Id};
use tokio::sync::OwnedSemaphorePermit;

use super::blob_store::ContentName;
use super::form::ResolveFiles;
use super::limits::{LargeResponses, LimitedResponse, Permit};
use super::model::File;
use super::responses::{FileView, resolved};
use super::sharing::{ShareFailure, Sharing};
use super::store;
use super::stripped_files::StrippedFiles;

/// A call to resolve files.
pub(super) struct ResolveJob {
    ids: Vec<Id>,
    sharing: Sharing,
    view: FileView,
}

/// What running a job results in.
pub(super) enum Resolution {
    /// The response.
    Done(LimitedResponse),
    /// Nothing was changed, because these images would become public, and were not searched for personal metadata yet.
    /// With the names of their contents.
    Unstripped(Vec<(File, ContentName)>),
}

/// One run of a job. Owns everything, because the database continues to work for a client that has disconnected.
struct Run {
    job: Arc<ResolveJob>,
    stripped: Option<Arc<StrippedFiles>>,
    /// Counts the run against its tenant's limit.
    _tenant_permit: OwnedSemaphorePermit,
}

impl ResolveJob {
    /// Creates the job for a request.
    pub(super) fn new(request: ResolveFiles, view: FileView) -> Self {
        let (ids, sharing) = request.into_parts();
        Self { ids, sharing, view }
    }

    /// Returns the tenant of the caller.
    pub(super) fn tenant(&self) -> String {
        self.view.caller.tenant()
    }

    /// Finds or shares the files. `stripped` has the images that were searched for metadata; `None` if they need not
    /// be.
    ///
    /// # Errors
    /// 400 if a file would be shared with too many organisations, 429 and 503 if no permit for a large response becomes
    /// free.
    pub(super) async fn run(
        self: Arc<Self>,
        db: &Database,
        large: &LargeResponses,
        tenant_permit: OwnedSemaphorePermit,
        stripped: Option<Arc<StrippedFiles>>,
    ) -> Result<Resolution, Error> {
        let tenant = self.tenant();
        let run = Arc::new(Run { job: self, stripped, _tenant_permit: tenant_permit });
        large.run(&tenant, async |permit| run.clone().attempt(db, large, permit).await).await
    }
}

impl Run {
    /// Runs the job once. Queries the size of the response first: if it is large and no permit is free, loads and
    /// changes no files. The files of a brief response are loaded without a permit, but only while a database
    /// connection works for the call.
    async fn attempt(
        self: Arc<Self>,
        db: &Database,
        large: &LargeResponses,
        permit: Option<Permit>,
    ) -> Result<Resolution, Error> {
        let (large, only_reads) = (large.clone(), self.job.sharing.is_empty());
        let work = move |c: &mut AnyConnection| -> Result<_, ShareFailure> {
            let ResolveJob { ids, sharing, view } = &*self.job;
            let mut permit = permit.clone();
            if view.may_be_large(ids) {
                let bytes = store::organisations_size(c, ids)? + sharing.added_size(ids.len());
                permit = large.try_permit(&view.caller.tenant(), bytes, permit.as_ref())?.or(permit);
            }
            let files = if only_reads {
                store::find_usable(c, &view.caller, ids)?
            } else {
                store::share(c, &view.caller, ids, sharing, self.stripped.as_deref())?
            };
            Ok(resolved(ids, files, view, &large, permit.as_ref())?)
        };
        let result = if only_reads { db.read(work).await } else { db.write(work).await };
        match result {
            Ok(response) => Ok(Resolution::Done(response)),
            Err(ShareFailure::Unstripped(files)) => Ok(Resolution::Unstripped(files)),
            Err(ShareFailure::Error(error)) => Err(error),
        }
    }
}
