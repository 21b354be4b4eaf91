//! Contents without metadata for files that are shared with everybody after their upload.

use std::time::Duration;

use database::Id;

use super::model::File;
use super::stored_contents::StoredContents;

/// Files that were searched for metadata, and their new contents, which are in the content store already.
pub(super) struct StrippedFiles {
    /// The files that were searched.
    pub(super) examined: Vec<Id>,
    /// Those of them that need another content.
    pub(super) files: Vec<StrippedFile>,
    /// These contents.
    pub(super) contents: StoredContents,
}

/// The new content of a file.
pub(super) struct StrippedFile {
    /// The file.
    pub(super) id: Id,
    /// The hash of the content before.
    pub(super) from: String,
    /// The hash of the new content.
    pub(super) hash: String,
    /// The size of the new content in bytes.
    pub(super) size: i64,
}

impl StrippedFiles {
    /// Creates an empty list. `grace` is the grace period of the sweep.
    pub(super) fn new(grace: Duration) -> Self {
        Self { examined: Vec::new(), files: Vec::new(), contents: StoredContents::new(grace) }
    }

    /// Returns true if a file must be searched before every caller may download it.
    pub(super) fn lacks(&self, file: &File) -> bool {
        file.is_known_image() && !self.examined.contains(&file.id)
    }

    /// Returns the new content of a file that is public, if it has one.
    pub(super) fn find(&self, file: &File) -> Option<&StrippedFile> {
        let stripped =
            self.files.iter().find(|stripped| stripped.id == file.id && stripped.from == file.hash);
        stripped.filter(|_| file.is_public())
    }
}
