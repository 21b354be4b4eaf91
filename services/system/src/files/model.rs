//! What a file is and who may do what with it.

use common::Caller;
use common::wire::normalize_line;
use database::{Id, Json, Timestamp};
use diesel::prelude::*;
use serde::{Deserialize, Serialize};

use super::kind::{Bucket, FileType};

/// The most organisations that a file is shared with; `*` counts as one.
pub const MAX_ORGANISATIONS: usize = 200;
/// The entry that stands for every organisation.
const EVERYBODY: &str = "*";

/// The organisations that a file is shared with, each once; `*` among them is everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Organisations(pub Vec<String>);

impl Organisations {
    /// Adds those that are missing; true if any was.
    pub fn add(&mut self, others: &[String]) -> bool {
        let before = self.0.len();
        for other in others {
            if !self.0.contains(other) {
                self.0.push(other.clone());
            }
        }
        self.0.len() > before
    }

    /// Removes those that are there, as they are written or else normalized; true if any was.
    pub fn remove(&mut self, others: &[String]) -> bool {
        let before = self.0.len();
        for other in others {
            let position = |id: &str| self.0.iter().position(|organisation| organisation == id);
            if let Some(found) = position(other).or_else(|| position(&normalize_line(other))) {
                self.0.remove(found);
            }
        }
        self.0.len() < before
    }
}

impl TryFrom<Json> for Organisations {
    type Error = serde_json::Error;
    fn try_from(json: Json) -> Result<Self, Self::Error> {
        json.parse()
    }
}

/// A stored file.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::files)]
pub struct File {
    /// Its id.
    pub id: Id,
    /// `images` or `files`.
    #[diesel(deserialize_as = String)]
    pub bucket: Bucket,
    /// What it is for.
    #[diesel(deserialize_as = String)]
    pub kind: FileType,
    /// Its owner; none if the uploader acted for no organisation.
    pub organisation_id: Option<String>,
    /// 1..200 characters, no folder.
    pub name: String,
    /// SHA-256 of the content, 64 hex digits.
    pub hash: String,
    /// Media type.
    pub content_type: String,
    /// Bytes of the content, at least 1.
    pub size: i64,
    /// Who uploaded it.
    pub user_id: String,
    /// The name of who uploaded it.
    pub user_name: String,
    /// Who may read it too.
    #[diesel(deserialize_as = Json)]
    pub organisations: Organisations,
    /// When it was uploaded.
    pub created_at: Timestamp,
    /// When it was archived, if it was.
    pub archived_at: Option<Timestamp>,
}

impl File {
    /// True for callers who may share and archive the file: its organisation and `admin`.
    ///
    /// The uploader's rights hold only while acting for the organisation that the file was uploaded for. So they add
    /// something only to a file without an organisation: its uploader may, while acting for none.
    pub fn is_own_of(&self, caller: &Caller) -> bool {
        let is_owner = match (&self.organisation_id, &caller.organisation) {
            (Some(owner), Some(organisation)) => *owner == organisation.id,
            (None, None) => self.user_id == caller.user_id,
            _ => false,
        };
        caller.admin || is_owner
    }

    /// True for callers who may download the file and read its information.
    pub fn is_readable_by(&self, caller: &Caller) -> bool {
        self.kind.is_open() || self.is_own_of(caller) || self.organisations.0.iter().any(reaches(caller))
    }

    /// The same file as this caller sees it. Those who may share it see all organisations (a file from before the limit
    /// may have more than [`MAX_ORGANISATIONS`]); others only the entries that let them read it.
    #[must_use]
    pub fn seen_by(mut self, caller: &Caller) -> Self {
        if !self.is_own_of(caller) {
            self.organisations.0.retain(reaches(caller));
        }
        self
    }
}

/// Whether an entry of a file's organisations is the caller's own or everybody.
fn reaches(caller: &Caller) -> impl Fn(&String) -> bool {
    |organisation| organisation == EVERYBODY || caller.acts_for(organisation)
}

/// The files of one upload.
#[derive(Debug)]
pub struct Upload {
    /// Of the first part.
    pub first: File,
    /// Of the other parts, in their order.
    pub additional: Vec<File>,
}

impl Upload {
    /// All of them.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        std::iter::once(&self.first).chain(&self.additional)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sharing_twice_changes_nothing() {
        let mut organisations = Organisations(vec!["a".into()]);
        assert!(organisations.add(&["b".into(), "a".into(), "b".into()]));
        assert_eq!(organisations.0, ["a", "b"]);
        assert!(!organisations.add(&["b".into()]));
    }

    #[test]
    fn unsharing_twice_changes_nothing() {
        let mut organisations = Organisations(vec!["a".into(), "*".into(), "b".into()]);
        assert!(organisations.remove(&["b".into(), "c".into(), "a".into()]));
        assert_eq!(organisations.0, ["*"]);
        assert!(!organisations.remove(&["b".into()]));
    }
}
