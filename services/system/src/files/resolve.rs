//! Resolving: what the other services need to know of the files that a load or a listing names, all in one call; and
//! sharing and unsharing the caller's own files among them.

use std::borrow::Cow;
use std::ops::Deref;

use common::validation::{Code, ValidationErrors};
use common::wire::{Name, Reference, StoredId};
use common::{Caller, Error, JsonResponse};
use database::Id;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::answer::FileInfo;
use super::large::{Held, LargeAnswers, Permit};
use super::model::{File, MAX_ORGANISATIONS, Organisations};

/// Which files, and whom they are for.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResolveFiles {
    /// Ids of files; what is no UUID is left out.
    #[schema(required = true, min_items = 1, max_items = 50)]
    ids: Vec<String>,
    /// Organisations with which the caller's own files among these are shared, at most 50 in a call. A file is shared
    /// with at most 200 organisations; if one of these files would exceed that, nothing is shared.
    share_with: Option<ShareWith>,
    /// Organisations with which the caller's own files among these are no longer shared, at most 50 in a call. `*` ends
    /// the sharing with everybody; organisations that are named one by one keep their access. An id is compared
    /// as it is written, so that those from before ids were normalized can be taken off, and if there is none, normalized.
    unshare_with: Option<UnshareWith>,
    /// Identifies the sharing, for retries: of calls with the same `shareId` only the first shares (for 24 hours). So a late
    /// retry does not share what was unshared since.
    share_id: Option<Reference>,
    /// `true`: nothing is shared or unshared unless all ids are found.
    all_or_nothing: bool,
    /// `true`: `organisations` is left empty, so the answer stays small.
    brief: bool,
}

/// Ids of organisations, `*` being everybody; or `*` alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum OrganisationIds<T> {
    Listed(Vec<T>),
    Everybody(String),
}

type ShareWith = OrganisationIds<Name>;
type UnshareWith = OrganisationIds<StoredId>;

impl<T: Deref<Target = str>> OrganisationIds<T> {
    /// The ids; none if absent.
    fn ids(this: Option<&Self>) -> Vec<String> {
        match this {
            Some(Self::Listed(ids)) => ids.iter().map(|id| id.to_string()).collect(),
            Some(Self::Everybody(star)) => vec![star.clone()],
            None => Vec::new(),
        }
    }

    /// True when it is a text other than `*`.
    fn is_wrong(&self) -> bool {
        matches!(self, Self::Everybody(star) if star != "*")
    }
}

impl<T: PartialSchema> PartialSchema for OrganisationIds<T> {
    fn schema() -> RefOr<Schema> {
        let types = SchemaType::from_iter([Type::Array, Type::String]);
        let description = "At most 50 ids of organisations, `*` being everybody; or `*` alone.";
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
    /// What no schema can state.
    pub(super) fn rules(&self, errors: &mut ValidationErrors) {
        let wrong = [
            ("shareWith", self.share_with.as_ref().is_some_and(OrganisationIds::is_wrong)),
            ("unshareWith", self.unshare_with.as_ref().is_some_and(OrganisationIds::is_wrong)),
        ];
        for (path, is_wrong) in wrong {
            if is_wrong {
                let allowed = json!({ "allowed": ["*"] });
                errors.push_with(path, Code::Enum, "must be an array of organisations, or *", allowed);
            }
        }
        let shared = OrganisationIds::ids(self.share_with.as_ref());
        if OrganisationIds::ids(self.unshare_with.as_ref()).iter().any(|id| shared.contains(id)) {
            let message = "must not name an organisation that shareWith names too";
            errors.push("unshareWith", Code::Inconsistent, message);
        }
    }

    /// True when the answer leaves `organisations` empty.
    pub(super) fn is_brief(&self) -> bool {
        self.brief
    }

    /// The ids, each once, and the change of their sharing.
    pub(super) fn into_parts(self) -> (Vec<Id>, Sharing) {
        let mut ids = Vec::with_capacity(self.ids.len());
        let mut nameless = false;
        for id in &self.ids {
            match Id::parse(id) {
                Some(id) if !ids.contains(&id) => ids.push(id),
                Some(_) => {}
                None => nameless = true,
            }
        }
        let share_id = self.share_id.map(|id| id.0);
        let mut sharing = Sharing { share_id, all_or_nothing: self.all_or_nothing, ..Sharing::default() };
        // A text that is no UUID is an id that is never found.
        if !(self.all_or_nothing && nameless) {
            sharing.share = OrganisationIds::ids(self.share_with.as_ref());
            sharing.unshare = OrganisationIds::ids(self.unshare_with.as_ref());
        }
        (ids, sharing)
    }
}

/// A change of the organisations with which files are shared. No organisation is in both lists.
#[derive(Default)]
pub(super) struct Sharing {
    /// Ids of organisations to add, `*` being everybody.
    share: Vec<String>,
    /// Ids of organisations to remove.
    unshare: Vec<String>,
    /// Organisations are added only once for each id.
    pub share_id: Option<String>,
    /// Nothing is changed unless all files are found.
    pub all_or_nothing: bool,
}

impl Sharing {
    /// True when it changes no file.
    pub(super) fn is_empty(&self) -> bool {
        self.share.is_empty() && self.unshare.is_empty()
    }

    /// The bytes that it adds at most to an answer with so many files, but for escapes.
    pub(super) fn added_size(&self, files: usize) -> usize {
        files * self.share.iter().map(|id| id.len() + "\"\",".len()).sum::<usize>()
    }

    /// True when it adds organisations to files.
    pub(super) fn shares(&self) -> bool {
        !self.share.is_empty()
    }

    /// Changes the organisations of a file, without adding any if this is a `repeat`; true if they are others then.
    ///
    /// # Errors
    /// If organisations are added and the file has more than [`MAX_ORGANISATIONS`] then.
    pub(super) fn apply(&self, organisations: &mut Organisations, repeat: bool) -> Result<bool, NoRoom> {
        let removed = organisations.remove(&self.unshare);
        let added = !repeat && organisations.add(&self.share);
        if added && organisations.0.len() > MAX_ORGANISATIONS { Err(NoRoom) } else { Ok(removed || added) }
    }
}

/// A file would be shared with more than [`MAX_ORGANISATIONS`].
pub(super) struct NoRoom;

impl NoRoom {
    /// 400 `length` for the files that have no room; `data` names them all.
    pub(super) fn refuse(ids: &[Id]) -> Error {
        let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
        let files = match &ids[..] {
            [id] => format!("the file {id}"),
            more => format!("{} of the files", more.len()),
        };
        let message = format!(
            "would share {files} with more than {MAX_ORGANISATIONS} organisations: take some off first, with unshareWith"
        );
        let mut errors = ValidationErrors::default();
        let data = json!({ "maximum": MAX_ORGANISATIONS, "ids": ids });
        errors.push_with("shareWith", Code::Length, message, data);
        Error::Validation(errors)
    }
}

/// How files are shown.
#[derive(Clone)]
pub(super) struct View {
    /// To whom.
    pub caller: Caller,
    /// Without organisations.
    pub brief: bool,
    /// Begins their URLs.
    pub public_url: String,
}

impl View {
    /// True when the answer with these files may be large. One without organisations is not: 50 files have less than half
    /// a MB besides. Nor is one with few files.
    pub(super) fn may_be_large(&self, ids: &[Id]) -> bool {
        !self.brief && ids.len() > ALWAYS_SMALL
    }

    fn show(&self, file: File) -> File {
        let mut file = file.seen_by(&self.caller);
        file.organisations.0.truncate(if self.brief { 0 } else { MAX_ORGANISATIONS });
        file
    }
}

/// An answer with so many files is not large, but for ids from before ids were normalized (see [`resolved`]).
const ALWAYS_SMALL: usize = 6;

/// The bytes that the file takes in an answer, or a few more.
fn size(file: &File) -> usize {
    // Names have no control characters now, so JSON escapes these two only.
    let quoted = |text: &String| {
        text.len() + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count() + "\"\",".len()
    };
    let texts = [&file.name, &file.user_id, &file.user_name].into_iter().chain(&file.organisation_id);
    // All that has about the same length in every file.
    1024 + texts.chain(&file.organisations.0).map(quoted).sum::<usize>()
}

/// The answer: the files found, as the caller sees them, and in a header the ids that were not. A large answer is built
/// only with a permit: `own`, if the caller has one, or a free one.
///
/// It has at most 50 files with [`MAX_ORGANISATIONS`] ids each. An id has at most 200 characters, which take at most
/// 800 bytes (4 of UTF-8 each, or 2 of a JSON escape) and 3 for quotes and comma: 8.03 MB in all. The other members
/// add less than 10 KB a file.
///
/// # Errors
/// 503 if it is large and no permit is free.
pub(super) fn resolved(
    ids: &[Id],
    files: Vec<File>,
    view: &View,
    large: &LargeAnswers,
    own: Option<&Permit>,
) -> Result<Held, Error> {
    let missing = ids.iter().filter(|id| !files.iter().any(|file| file.id == **id));
    let missing: Vec<_> = missing.map(ToString::to_string).collect();
    let files: Vec<_> = files.into_iter().map(|file| view.show(file)).collect();
    let permit = large.permit(&view.caller.tenant(), files.iter().map(size).sum(), own)?;
    let infos: Vec<_> = files.into_iter().map(|file| FileInfo::resolved(file, &view.public_url)).collect();
    let answer = JsonResponse::json(&infos)?;
    let answer = if missing.is_empty() { answer } else { answer.header("X-Missing-Ids", missing.join(",")) };
    Ok(Held { answer, permit })
}
