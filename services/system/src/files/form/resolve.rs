//! The body of the resolve operation (`docs/api/files.md`, "Resolve and share").

use std::borrow::Cow;
use std::ops::Deref;

use common::validation::{Code, ValidationErrors};
use common::wire::{ExternalId, QueryText, Reference, StoredId};
use database::Id;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::examples;
use crate::files::ids::distinct_ids;
use crate::files::sharing::Sharing;

/// The files to resolve, and the change of their sharing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "ids": [examples::FILE], "shareWith": ["hereford-haulage"] }))]
pub(in crate::files) struct ResolveFiles {
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
    /// Checks the rules that the JSON schema cannot express.
    pub(in crate::files) fn rules(&self, errors: &mut ValidationErrors) {
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
    pub(in crate::files) fn is_brief(&self) -> bool {
        self.brief
    }

    /// Returns the valid ids without duplicates, and the change of their sharing.
    pub(in crate::files) fn into_parts(self) -> (Vec<Id>, Sharing) {
        let ids = distinct_ids(&self.ids);
        let any_invalid = self.ids.iter().any(|id| Id::parse(id).is_none());
        let share_id = self.share_id.map(|id| id.0);
        let mut sharing = Sharing { share_id, all_or_nothing: self.all_or_nothing, ..Sharing::default() };
        // A text that is not a UUID counts as an id that is not found.
        if !(self.all_or_nothing && any_invalid) {
            sharing.share = OrganisationIds::ids(self.share_with.as_ref());
            sharing.unshare = OrganisationIds::ids(self.unshare_with.as_ref());
        }
        (ids, sharing)
    }
}
