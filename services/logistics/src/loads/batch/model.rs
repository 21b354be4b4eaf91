//! The response to a batch, and the contents that it imports.

use common::Error;
use common::validation::ValidationErrors;
use common::wire::Warning;
use database::Id;
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::options::IfExists;

/// The maximum number of errors in a response (docs/api/batches.md, "Import").
pub(crate) const MAX_ERRORS: usize = 1000;

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
    /// With `ifExists=skip`: the number of rows that were left out, because their loads exist already.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    skipped: Option<usize>,
    /// The ids of the loads, in the order of the rows. Empty for a dry run.
    #[schema(value_type = Vec<String>)]
    ids: Vec<Id>,
    /// What looks wrong about the files, such as hidden rows or similar references. Absent if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    warnings: Vec<Warning>,
}

impl BatchResult {
    /// Returns the result for loads that were created. `skipped`: the number of rows that were left out.
    pub(crate) fn created(ids: Vec<Id>, skipped: Option<usize>, warnings: Vec<Warning>) -> Self {
        let count = ids.len();
        let were = if count == 1 { "load was" } else { "loads were" };
        let message = format!("{count} {were} created{}.", describe_skipped(skipped));
        Self { message, status: "success", count, skipped, ids, warnings }
    }

    /// Returns the result of a dry run.
    pub(crate) fn dry_run(count: usize, skipped: Option<usize>, warnings: Vec<Warning>) -> Self {
        let loads = if count == 1 { "load" } else { "loads" };
        let skipped_rows = describe_skipped(skipped);
        let message = format!("Dry run: {count} {loads} would be created{skipped_rows}; nothing was stored.");
        Self { message, status: "success", count, skipped, ids: Vec::new(), warnings }
    }
}

fn describe_skipped(skipped: Option<usize>) -> String {
    match skipped {
        None | Some(0) => String::new(),
        Some(1) => ", 1 row skipped".to_owned(),
        Some(count) => format!(", {count} rows skipped"),
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
    /// What happens to rows whose loads exist already.
    pub if_exists: IfExists,
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
        if_exists: IfExists,
    ) -> Self {
        let (mut hashes, names): (Vec<[u8; 32]>, Vec<_>) = files.unzip();
        let file = |(hash, name): (&[u8; 32], Option<&str>)| ImportedFile {
            content_hash: hex_sha256(hash),
            name: name.unwrap_or_default().to_owned(),
        };
        let files = hashes.iter().zip(names).map(file).collect();
        hashes.sort_unstable();
        let combined_hash = hex_sha256(&hashes.concat());
        Self { organisation_id: organisation_id.to_owned(), files, combined_hash, repeat, if_exists }
    }

    /// Returns true if a content that was imported before is refused. With `ifExists=skip` the rows themselves are
    /// compared instead.
    pub(crate) fn refuses_repeats(&self) -> bool {
        !self.repeat && self.if_exists != IfExists::Skip
    }
}

fn hex_sha256(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

/// Returns the response for rows with errors.
pub(crate) fn rows_error(errors: ValidationErrors, failed_rows: usize) -> Error {
    Error::Validation(errors).with("failedRows", failed_rows)
}
