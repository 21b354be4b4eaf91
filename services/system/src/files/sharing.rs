//! Changes of the organisations that files are shared with.

use common::validation::{Code, ValidationErrors};
use common::{Caller, Error, security_event};
use database::{DatabaseFailure, Id};
use serde_json::json;

use super::blob_store::BlobName;
use super::model::{File, MAX_ORGANISATIONS, Organisations};

/// A change of the organisations that files are shared with. No organisation is in both lists.
#[derive(Default)]
pub(super) struct Sharing {
    /// Ids of organisations to add. `*` means everybody.
    pub share: Vec<String>,
    /// Ids of organisations to remove. `*` removes the entry `*` only.
    pub unshare: Vec<String>,
    /// Ends the sharing of files of others with the caller's organisation.
    pub leave: bool,
    /// Of several calls with the same id, only the first adds organisations.
    pub share_id: Option<String>,
    /// Changes nothing unless all files are found.
    pub all_or_nothing: bool,
}

impl Sharing {
    /// Returns true if no file would be changed.
    pub(super) fn is_empty(&self) -> bool {
        self.share.is_empty() && self.unshare.is_empty() && !self.leave
    }

    /// Returns true if organisations would be added.
    pub(super) fn adds(&self) -> bool {
        !self.share.is_empty()
    }

    /// Returns the maximum number of bytes that the change adds to a JSON response with this many files, without JSON
    /// escapes.
    pub(super) fn added_size(&self, files: usize) -> usize {
        files * self.share.iter().map(|id| id.len() + "\"\",".len()).sum::<usize>()
    }

    /// Writes the change of these files to the security log, without the ids of organisations.
    pub(super) fn log(&self, files: &[Id]) {
        let files = files.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let is_public = self.share.iter().any(|id| id == "*");
        security_event!(
            "sharing_changed",
            files,
            shared_with = self.share.len(),
            unshared_with = self.unshare.len() + usize::from(self.leave),
            is_public,
            "the sharing of files was changed"
        );
    }

    /// Changes the organisations of a file of others: they can only lose the caller's one. Returns true if it did.
    pub(super) fn apply_to_others(&self, organisations: &mut Organisations, caller: &Caller) -> bool {
        let own = caller.organisation.as_ref().filter(|_| self.leave);
        own.is_some_and(|own| organisations.remove(std::slice::from_ref(&own.id)))
    }

    /// Changes the organisations of one of the caller's own files. Adds none if this is a `repeat`. Returns true if
    /// anything changed.
    ///
    /// # Errors
    /// If organisations were added and the file now has more than [`MAX_ORGANISATIONS`].
    pub(super) fn apply(
        &self,
        organisations: &mut Organisations,
        repeat: bool,
    ) -> Result<bool, TooManyOrganisations> {
        let removed = organisations.remove(&self.unshare);
        let added = !repeat && organisations.add(&self.share);
        if added && organisations.0.len() > MAX_ORGANISATIONS {
            Err(TooManyOrganisations)
        } else {
            Ok(removed || added)
        }
    }
}

/// A file would be shared with more than [`MAX_ORGANISATIONS`].
pub(super) struct TooManyOrganisations;

impl TooManyOrganisations {
    /// Returns 400 `length` for these files. `data.ids` lists all of them.
    pub(super) fn error(ids: &[Id]) -> Error {
        let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
        let files = match &ids[..] {
            [id] => format!("the file {id}"),
            more => format!("{} of the files", more.len()),
        };
        let message = format!(
            "would share {files} with more than {MAX_ORGANISATIONS} organisations: remove some first, with unshareWith"
        );
        let mut errors = ValidationErrors::default();
        let data = json!({ "maximum": MAX_ORGANISATIONS, "ids": ids });
        errors.push_with("shareWith", Code::Length, message, data);
        Error::Validation(errors)
    }
}

/// Why the sharing of files was not changed.
pub(super) enum ShareFailure {
    /// These files are images that would become public, and were not searched for personal metadata yet. With the names
    /// of their blobs.
    Unstripped(Vec<(File, BlobName)>),
    /// Another reason.
    Error(Error),
}

impl From<Error> for ShareFailure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<database::Error> for ShareFailure {
    fn from(error: database::Error) -> Self {
        Self::Error(error.into())
    }
}

impl DatabaseFailure for ShareFailure {
    fn database(&self) -> Option<&database::Error> {
        match self {
            Self::Unstripped(_) => None,
            Self::Error(error) => error.database(),
        }
    }
}
