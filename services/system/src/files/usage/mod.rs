//! How much of the store each owner uses, and how much it may use (`docs/api/files.md`, "Quota").

use common::Caller;

use crate::Settings;
use crate::files::model::File;

/// The owner of files: an organisation, or a user whose files have none.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) organisation_id: Option<String>,
    pub(super) user_id: String,
}

impl Owner {
    /// Returns the owner of the files that a caller uploads without naming another one.
    pub(super) fn of_caller(caller: &Caller) -> Self {
        let organisation_id = caller.organisation.as_ref().map(|organisation| organisation.id.clone());
        Self { organisation_id, user_id: caller.user_id.clone() }
    }

    /// Returns the owner of a file.
    pub(super) fn of(file: &File) -> Self {
        Self { organisation_id: file.organisation_id.clone(), user_id: file.user_id.clone() }
    }

    /// Returns the most bytes of the owner's files.
    pub(super) fn max_bytes(&self, settings: &Settings) -> i64 {
        let bytes = match self.organisation_id {
            Some(_) => settings.max_bytes_per_organisation,
            None => settings.max_bytes_per_user,
        };
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}
