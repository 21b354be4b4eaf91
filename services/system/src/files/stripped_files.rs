//! Contents without metadata for files that are shared with everybody after their upload.

use database::Id;

use super::stored_contents::StoredContents;

/// New contents of files, which are in the content store already.
#[derive(Default)]
pub(super) struct StrippedFiles {
    /// `None` if no file needs another content.
    pub(super) contents: Option<StoredContents>,
    /// The files that need another content.
    pub(super) files: Vec<StrippedFile>,
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
