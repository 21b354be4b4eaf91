//! The response to a batch, and the contents that it imports.

use database::Id;
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// The response to a batch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchResult {
    /// One sentence for people.
    message: String,
    /// Always `success`.
    #[schema(value_type = String)]
    status: &'static str,
    /// The number of loads that were created, or would be created by a dry run.
    count: usize,
    /// The ids of the loads, in the order of the rows. Empty for a dry run.
    #[schema(value_type = Vec<String>)]
    ids: Vec<Id>,
}

impl BatchResult {
    /// Returns the result for loads that were created.
    pub(crate) fn created(ids: Vec<Id>) -> Self {
        let (count, status) = (ids.len(), "success");
        let message =
            if count == 1 { "1 load was created.".into() } else { format!("{count} loads were created.") };
        Self { message, status, count, ids }
    }

    /// Returns the result of a dry run.
    pub(crate) fn dry_run(count: usize) -> Self {
        let loads = if count == 1 { "load" } else { "loads" };
        let message = format!("Dry run: {count} {loads} would be created; nothing was stored.");
        Self { message, status: "success", count, ids: Vec::new() }
    }
}

/// The contents that a batch imports for an organisation.
pub(crate) struct Import {
    /// Empty for an `admin` without an organisation.
    pub organisation_id: String,
    /// In the order of the request.
    pub files: Vec<ImportedFile>,
    /// The hash of all files regardless of their order, which older versions recorded for batches of several files.
    pub combined_hash: String,
    /// The files may have been imported before.
    pub repeat: bool,
}

/// A file of a batch.
pub(crate) struct ImportedFile {
    /// SHA-256 in hex of the SHA-256 of the content. Older versions recorded batches of one file in this form.
    pub content_hash: String,
    /// The file name from the form; empty if there was none.
    pub name: String,
}

impl Import {
    /// Returns the import of files with these SHA-256 hashes and names.
    pub(crate) fn new<'a>(
        organisation_id: &str,
        files: impl Iterator<Item = (&'a [u8; 32], Option<&'a str>)>,
        repeat: bool,
    ) -> Self {
        let (mut hashes, names): (Vec<[u8; 32]>, Vec<_>) = files.unzip();
        let file = |(hash, name): (&[u8; 32], Option<&str>)| ImportedFile {
            content_hash: hex_sha256(hash),
            name: name.unwrap_or_default().to_owned(),
        };
        let files = hashes.iter().zip(names).map(file).collect();
        hashes.sort_unstable();
        let combined_hash = hex_sha256(&hashes.concat());
        Self { organisation_id: organisation_id.to_owned(), files, combined_hash, repeat }
    }
}

fn hex_sha256(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}
