//! The response to a batch, and the contents that it imports.

use common::validation::FieldError;
use common::wire::Warning;
use database::{Id, Timestamp};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::options::{IfExists, MatchBy};
use super::recognised::RecognisedFile;
use super::second_reading::RowCells;
use super::update::RowChanges;

/// The response to a batch.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BatchResult {
    /// One sentence for people.
    pub(crate) message: String,
    /// Always `success`.
    #[schema(value_type = String)]
    pub(crate) status: &'static str,
    /// The number of loads that were created, or would be created by a dry run.
    pub(crate) count: usize,
    /// The id of the batch, which the new loads show too. Absent for a dry run, and if nothing was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid, nullable = false)]
    pub(crate) batch_id: Option<Id>,
    /// With `ifExists=skip`: the number of rows that were left out, because their loads exist already.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) skipped: Option<usize>,
    /// With `ifExists=update`: the number of loads that were changed, or would be changed by a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) updated: Option<usize>,
    /// With `ifExists=update`: the number of rows that equal their loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) unchanged: Option<usize>,
    /// With `invalidRows=leaveOut`: the number of rows that were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) left_out: Option<usize>,
    /// With `invalidRows=leaveOut`: the entries of these rows, the first 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) validation: Option<Vec<FieldError>>,
    /// The ids of the loads that were created, in the order of the rows. Empty for a dry run.
    #[schema(value_type = Vec<String>)]
    pub(crate) ids: Vec<Id>,
    /// What looks wrong about the files, such as hidden rows or similar references. Absent if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) warnings: Vec<Warning>,
    /// What was recognised in each file.
    pub(crate) recognised: Vec<RecognisedFile>,
    /// With `include=rows`: the cells of the rows with entries, the first 1,000. With `include=sameReference`: also
    /// those of the rows in `sameReference`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) rows: Option<Vec<RowCells>>,
    /// Of a dry run with `ifExists=update`: what would change, the first 1,000 loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) changes: Option<Vec<RowChanges>>,
    /// With `ifExists=skip`: the rows whose cells differ from their loads, the first 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) differing: Option<Vec<usize>>,
    /// Of a dry run: the new rows whose reference a load of another delivery date has, the first 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) same_reference: Option<Vec<SameReference>>,
}

/// A row whose reference a load of another delivery date has.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SameReference {
    /// The number of the row, from 0.
    pub(crate) row: usize,
    /// The newest load with the reference.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) load_id: Id,
    #[serde(rename = "deliveryDateISO")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) delivery_at: Timestamp,
}

impl BatchResult {
    /// Adds the sentence for people.
    pub(crate) fn with_message(mut self, dry_run: bool) -> Self {
        let loads = |count: usize| if count == 1 { "load" } else { "loads" };
        let rows = |count: usize| if count == 1 { "row" } else { "rows" };
        let created = match (self.count, dry_run) {
            (count, true) => format!("Dry run: {count} {} would be created", loads(count)),
            (1, false) => "1 load was created".to_owned(),
            (count, false) => format!("{count} loads were created"),
        };
        let mut parts = vec![created];
        let mut add = |count: Option<usize>, noun: &dyn Fn(usize) -> &'static str, verb: &str| {
            parts.extend(
                count.filter(|count| *count > 0).map(|count| format!("{count} {} {verb}", noun(count))),
            );
        };
        add(self.updated, &loads, "updated");
        add(self.unchanged, &rows, "unchanged");
        add(self.skipped, &rows, "skipped");
        add(self.left_out, &rows, "left out");
        let end = if dry_run { "; nothing was stored." } else { "." };
        self.message = parts.join(", ") + end;
        self.status = "success";
        self
    }
}

/// The contents that a batch imports for an organisation.
pub(crate) struct Import {
    /// The id of the batch.
    pub id: Id,
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
    /// What the load of a row that exists already has in common with the row.
    pub match_by: MatchBy,
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
        (if_exists, match_by): (IfExists, MatchBy),
    ) -> Self {
        let (mut hashes, names): (Vec<[u8; 32]>, Vec<_>) = files.unzip();
        let file = |(hash, name): (&[u8; 32], Option<&str>)| ImportedFile {
            content_hash: hex_sha256(hash),
            name: name.unwrap_or_default().to_owned(),
        };
        let files = hashes.iter().zip(names).map(file).collect();
        hashes.sort_unstable();
        let combined_hash = hex_sha256(&hashes.concat());
        Self {
            id: Id::new(),
            organisation_id: organisation_id.to_owned(),
            files,
            combined_hash,
            repeat,
            if_exists,
            match_by,
        }
    }

    /// Returns true if a content that was imported before is refused. With `ifExists=skip` and `update` the rows
    /// themselves are compared instead.
    pub(crate) fn refuses_repeats(&self) -> bool {
        !self.repeat && !matches!(self.if_exists, IfExists::Skip | IfExists::Update)
    }

    /// Returns true if rows are compared with loads.
    pub(crate) fn compares_loads(&self) -> bool {
        self.if_exists != IfExists::Create
    }
}

fn hex_sha256(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}
