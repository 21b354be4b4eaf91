//! Resolving files, and sharing them, in one database call.

use std::sync::Arc;
use std::time::Duration;

use common::Error;
use database::{AnyConnection, Database, Id};
use tokio::sync::OwnedSemaphorePermit;

use super::content::ContentStore;
use super::form::ResolveFiles;
use super::large_responses::{LargeResponses, LimitedResponse, Permit};
use super::metadata::strip_private;
use super::responses::{FileView, resolved};
use super::sharing::Sharing;
use super::store;
use super::stripped_files::StrippedFiles;

/// A call to resolve files.
pub(super) struct ResolveJob {
    ids: Vec<Id>,
    sharing: Sharing,
    view: FileView,
    /// New contents of files that become public.
    stripped: StrippedFiles,
    /// Counts the call against its tenant's limit. The job owns the permit, because the database continues to work for
    /// a client that has disconnected.
    _tenant_permit: OwnedSemaphorePermit,
}

impl ResolveJob {
    /// Creates the job for a request.
    pub(super) fn new(request: ResolveFiles, view: FileView, tenant_permit: OwnedSemaphorePermit) -> Self {
        let (ids, sharing) = request.into_parts();
        Self { ids, sharing, view, stripped: StrippedFiles::default(), _tenant_permit: tenant_permit }
    }

    /// Prepares contents without metadata if the files are shared with everybody. `grace` is the grace period of the
    /// sweep.
    ///
    /// # Errors
    /// 503 if the database, the content store or the disk is unavailable.
    pub(super) async fn strip(
        mut self,
        db: &Database,
        contents: &ContentStore,
        grace: Duration,
    ) -> Result<Self, Error> {
        if self.sharing.adds_everybody() {
            let Self { ids, view, .. } = &self;
            self.stripped = strip_private(db, contents, &view.caller, ids, grace).await?;
        }
        Ok(self)
    }

    /// Returns true if the contents of files are replaced.
    pub(super) fn replaces_contents(&self) -> bool {
        self.stripped.contents.is_some()
    }

    /// Finds or shares the files.
    ///
    /// # Errors
    /// 400 if a file would be shared with too many organisations, 429 and 503 if no permit for a large response becomes
    /// free.
    pub(super) async fn run(self, db: &Database, large: &LargeResponses) -> Result<LimitedResponse, Error> {
        let job = Arc::new(self);
        let tenant = job.view.caller.tenant();
        large.run(&tenant, async |permit| job.clone().attempt(db, large, permit).await).await
    }

    /// Runs the job once. Queries the size of the response first: if it is large and no permit is free, loads and
    /// changes no files. The files of a brief response are loaded without a permit, but only while a database
    /// connection works for the call.
    async fn attempt(
        self: Arc<Self>,
        db: &Database,
        large: &LargeResponses,
        permit: Option<Permit>,
    ) -> Result<LimitedResponse, Error> {
        let (large, only_reads) = (large.clone(), self.sharing.is_empty());
        let work = move |c: &mut AnyConnection| {
            let Self { ids, sharing, view, stripped, .. } = &*self;
            let mut permit = permit.clone();
            if view.may_be_large(ids) {
                let bytes = store::organisations_size(c, ids)? + sharing.added_size(ids.len());
                permit = large.try_permit(&view.caller.tenant(), bytes, permit.as_ref())?.or(permit);
            }
            let files = if only_reads {
                store::find_usable(c, &view.caller, ids)?
            } else {
                store::share(c, &view.caller, ids, sharing, stripped)?
            };
            resolved(ids, files, view, &large, permit.as_ref())
        };
        if only_reads { db.read(work).await } else { db.write(work).await }
    }
}
