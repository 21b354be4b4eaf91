//! Resolving files, and sharing them, in one database call (`docs/api/files.md`, "Resolve and share"): the request, the
//! call, and the response.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use common::validation::{Code, ValidationErrors};
use common::wire::{ExternalId, QueryText, Reference, StoredId};
use common::{Error, JsonResponse};
use database::{AnyConnection, Database, Id};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::blob_store::BlobName;
use super::limits::{LargeResponses, LimitedResponse, ResponsePermit};
use super::model::{File, distinct_ids};
use super::privacy::StrippedFiles;
use super::responses::FileView;
use super::sharing::{ShareFailure, Sharing};
use super::store;
use crate::examples;

/// The files to resolve, and the change of their sharing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "ids": [examples::FILE], "shareWith": ["hereford-haulage"] }))]
pub(super) struct ResolveFiles {
    /// Ids of files. Texts that are not UUIDs are ignored.
    #[schema(required = true, min_items = 1, max_items = 50)]
    ids: Vec<QueryText>,
    /// Shares the caller's own files among these with these organisations (up to 50 in a call). A file is shared with
    /// at most 200 organisations; if one of these files would exceed that, nothing is shared.
    share_with: Option<ShareWith>,
    /// Ends the sharing of the caller's own files among these with these organisations (up to 50 in a call). `*` ends
    /// sharing with everybody; organisations that are listed by id keep their access. An id is compared as it is
    /// written, then normalized, so that ids that were stored before ids were normalized can be removed.
    unshare_with: Option<UnshareWith>,
    /// Identifies the sharing for retries: of calls with the same `shareId` only the first shares (for 24 hours). So a
    /// late retry does not share again with organisations that were unshared since.
    share_id: Option<Reference>,
    /// `true`: ends the sharing of the files of others among these with the caller's own organisation, which gives up
    /// its access to them.
    leave: bool,
    /// `true`: changes nothing unless all ids are found.
    all_or_nothing: bool,
    /// `true`: leaves `organisations` empty, which keeps the response small.
    brief: bool,
}

/// An array of organisation ids, in which `*` means everybody, or `*` alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum OrganisationIds<T> {
    Listed(Vec<T>),
    /// Valid only if the text is `*`.
    Everybody(String),
}

type ShareWith = OrganisationIds<ExternalId>;
type UnshareWith = OrganisationIds<StoredId>;

impl<T: Deref<Target = str>> OrganisationIds<T> {
    fn ids(this: Option<&Self>) -> Vec<String> {
        match this {
            Some(Self::Listed(ids)) => ids.iter().map(|id| id.to_string()).collect(),
            Some(Self::Everybody(star)) => vec![star.clone()],
            None => Vec::new(),
        }
    }

    fn is_invalid(&self) -> bool {
        matches!(self, Self::Everybody(star) if star != "*")
    }
}

impl<T: PartialSchema> PartialSchema for OrganisationIds<T> {
    fn schema() -> RefOr<Schema> {
        let types = SchemaType::from_iter([Type::Array, Type::String]);
        let description = "Up to 50 ids of organisations, in which `*` means everybody; or `*` alone.";
        let ids = ArrayBuilder::new().schema_type(types).items(T::schema()).max_items(Some(50));
        ids.description(Some(description)).into()
    }
}

impl ToSchema for ShareWith {
    fn name() -> Cow<'static, str> {
        "ShareWith".into()
    }
}

impl ToSchema for UnshareWith {
    fn name() -> Cow<'static, str> {
        "UnshareWith".into()
    }
}

impl ResolveFiles {
    /// Returns true if the request may change who can read files.
    pub(super) fn changes_sharing(&self) -> bool {
        let named = [
            OrganisationIds::ids(self.share_with.as_ref()),
            OrganisationIds::ids(self.unshare_with.as_ref()),
        ];
        self.leave || named.iter().any(|ids| !ids.is_empty())
    }

    /// Checks the rules that the JSON schema cannot express.
    pub(super) fn rules(&self, errors: &mut ValidationErrors) {
        let invalid = [
            ("shareWith", self.share_with.as_ref().is_some_and(OrganisationIds::is_invalid)),
            ("unshareWith", self.unshare_with.as_ref().is_some_and(OrganisationIds::is_invalid)),
        ];
        for (path, is_invalid) in invalid {
            if is_invalid {
                let allowed = json!({ "allowed": ["*"] });
                errors.push_with(path, Code::Enum, "must be an array of organisation ids, or *", allowed);
            }
        }
        let shared = OrganisationIds::ids(self.share_with.as_ref());
        if OrganisationIds::ids(self.unshare_with.as_ref()).iter().any(|id| shared.contains(id)) {
            let message = "must not contain an organisation that is also in shareWith";
            errors.push("unshareWith", Code::Inconsistent, message);
        }
    }

    /// Returns true if the response leaves `organisations` empty.
    pub(super) fn is_brief(&self) -> bool {
        self.brief
    }

    /// Returns the valid ids without duplicates, and the change of their sharing.
    pub(super) fn into_parts(self) -> (Vec<Id>, Sharing) {
        let ids = distinct_ids(&self.ids);
        let any_invalid = self.ids.iter().any(|id| Id::parse(id).is_none());
        let share_id = self.share_id.map(|id| id.0);
        let mut sharing = Sharing { share_id, all_or_nothing: self.all_or_nothing, ..Sharing::default() };
        // A text that is not a UUID counts as an id that is not found.
        if !(self.all_or_nothing && any_invalid) {
            sharing.share = OrganisationIds::ids(self.share_with.as_ref());
            sharing.unshare = OrganisationIds::ids(self.unshare_with.as_ref());
            sharing.leave = self.leave;
        }
        (ids, sharing)
    }
}

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
    /// With the names of their blobs.
    Unstripped(Vec<(File, BlobName)>),
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
        permit: Option<ResponsePermit>,
    ) -> Result<Resolution, Error> {
        let (large, only_reads) = (large.clone(), self.job.sharing.is_empty());
        let job = self.job.clone();
        let work = move |c: &mut AnyConnection| -> Result<_, ShareFailure> {
            let ResolveJob { ids, sharing, view } = &*self.job;
            let mut permit = permit.clone();
            if view.may_be_large(ids) {
                let bytes = store::organisations_size(c, ids)? + sharing.added_size(ids.len());
                permit = large.try_permit(&view.caller.tenant(), bytes, permit.as_ref())?.or(permit);
            }
            let (files, changed) = if only_reads {
                (store::find_usable(c, &view.caller, ids)?, Vec::new())
            } else {
                store::share(c, &view.caller, ids, sharing, self.stripped.as_deref())?
            };
            Ok((resolved(ids, files, view, &large, permit.as_ref())?, changed))
        };
        let result = if only_reads { db.read(work).await } else { db.write(work).await };
        match result {
            Ok((response, changed)) => {
                if !changed.is_empty() {
                    job.sharing.log(&changed);
                }
                Ok(Resolution::Done(response))
            }
            Err(ShareFailure::Unstripped(files)) => Ok(Resolution::Unstripped(files)),
            Err(ShareFailure::Error(error)) => Err(error),
        }
    }
}

/// Builds the response: the files, as the caller sees them, and the header `X-Missing-Ids`. A large response needs a
/// permit: `held`, or else a free one.
///
/// A response has at most 50 files with 200 ids of organisations each. An id has at most 200 characters, which take at
/// most 800 bytes (4 of UTF-8 each, or 2 of a JSON escape), and 3 bytes for quotes and comma: 8.03 MB in all. The other
/// members add less than 10 KB a file.
///
/// # Errors
/// 503 if the response is large and no permit is free.
fn resolved(
    ids: &[Id],
    files: Vec<File>,
    view: &FileView,
    large: &LargeResponses,
    held: Option<&ResponsePermit>,
) -> Result<LimitedResponse, Error> {
    let missing = ids.iter().filter(|id| !files.iter().any(|file| file.id == **id));
    let missing: Vec<_> = missing.map(ToString::to_string).collect();
    let (infos, permit) = view.infos(files, large, held)?;
    let mut response = JsonResponse::json(&infos)?;
    if !missing.is_empty() {
        response = response.header("X-Missing-Ids", missing.join(","));
    }
    Ok(LimitedResponse { response, permit })
}
