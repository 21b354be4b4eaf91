//! The search for files (`docs/api/files.md`, "List").

mod job;
mod name_keys;
mod parameters;
mod store;

use common::{Caller, PageRequest, SortDefinition, Sorting};
use database::search::{Nulls, SortType};

pub(super) use job::ListJob;
pub(crate) use name_keys::{fill_name_keys_at_start, run_name_key_backfill};
pub(super) use parameters::FileListParams;

use super::kind::{Bucket, FileType};
use super::responses::FileStatus;

/// The order of lists, newest first.
static CREATED_AT: SortDefinition<()> =
    SortDefinition { name: "createdAt", key: (), sort_type: SortType::Timestamp, nulls: Nulls::Never };

/// Returns the order of lists.
fn order() -> Sorting<()> {
    Sorting::new(&CREATED_AT, true)
}

/// A search for files: filters that a file must all pass, and a page. `None` and empty lists are no filters.
#[derive(Debug)]
pub(super) struct FileSearch {
    /// The owner.
    organisation_id: Option<String>,
    kind: Option<FileType>,
    bucket: Option<Bucket>,
    status: Option<FileStatus>,
    /// Words that a name must all contain, in lower case.
    words: Vec<String>,
    /// The page to return.
    page: PageRequest,
    /// True if the number of matches was requested.
    count: bool,
}

/// Whose files a search looks at.
#[derive(Debug, PartialEq, Eq)]
enum Owner {
    /// All files.
    Everybody,
    /// The files of an organisation.
    Organisation(String),
    /// The files of a user alone.
    User(String),
    /// No file.
    Nobody,
}

impl FileSearch {
    /// Returns whose files the caller's search looks at: those of its own organisation. `admin` sees all files.
    fn owner(&self, caller: &Caller) -> Owner {
        let requested = self.organisation_id.clone();
        match (requested, &caller.organisation) {
            (Some(id), _) if caller.admin || caller.acts_for(&id) => Owner::Organisation(id),
            (Some(_), _) => Owner::Nobody,
            (None, _) if caller.admin => Owner::Everybody,
            (None, Some(own)) => Owner::Organisation(own.id.clone()),
            (None, None) => Owner::User(caller.user_id.clone()),
        }
    }
}
