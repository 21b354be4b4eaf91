//! What a file is and who may do what with it.

use common::Caller;
use database::{Id, Json, Ts};
use diesel::prelude::*;
use serde::{Deserialize, Serialize};

use super::kind::{Bucket, FileType};

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
    /// Its owner; none if somebody who acts for no organisation uploaded it.
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
    pub created_at: Ts,
    /// When it was archived, if it was.
    pub archived_at: Option<Ts>,
}

impl File {
    /// True for who may share and archive it: the owner's organisation, the uploader, `admin`.
    pub fn is_own_of(&self, caller: &Caller) -> bool {
        let owner = self.organisation_id.as_deref();
        caller.admin || caller.user_id == self.user_id || owner.is_some_and(|o| caller.acts_for(o))
    }

    /// True for who may download it and ask about it (contract, section 2).
    pub fn is_readable_by(&self, caller: &Caller) -> bool {
        let shared = |o: &String| o == "*" || caller.acts_for(o);
        self.kind.is_open() || self.is_own_of(caller) || self.organisations.0.iter().any(shared)
    }
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
}
