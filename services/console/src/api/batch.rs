//! What the console reads of the answers to batches of loads (docs/api/batches.md).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::model::{Change, Warning};

/// The answer to a batch or a dry run: a success, or what is wrong.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct BatchAnswer {
    /// One sentence for a person.
    pub(crate) message: String,
    /// The code of an error.
    pub(crate) code: String,
    pub(crate) count: usize,
    pub(crate) batch_id: Option<String>,
    pub(crate) skipped: usize,
    pub(crate) updated: usize,
    pub(crate) unchanged: usize,
    pub(crate) left_out: usize,
    pub(crate) validation: Vec<Entry>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) recognised: Vec<RecognisedFile>,
    pub(crate) rows: Vec<RowCells>,
    pub(crate) changes: Vec<RowChanges>,
    pub(crate) same_reference: Vec<SameReference>,
    /// The further members of an error.
    pub(crate) body: ErrorBody,
}

/// The member `body` of an error of a batch.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ErrorBody {
    recognised: Vec<RecognisedFile>,
    rows: Vec<RowCells>,
    failed_rows: usize,
}

impl BatchAnswer {
    /// Returns the answer with the members of an error where those of a success are.
    pub(crate) fn flattened(mut self) -> Self {
        let body = std::mem::take(&mut self.body);
        if !body.recognised.is_empty() {
            self.recognised = body.recognised;
        }
        if !body.rows.is_empty() {
            self.rows = body.rows;
        }
        self.left_out = self.left_out.max(body.failed_rows);
        self
    }
}

/// What is wrong with a cell or with the upload.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) message: String,
    pub(crate) code: String,
    pub(crate) data: Value,
}

/// What was recognised in a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RecognisedFile {
    pub(crate) file: String,
    pub(crate) sheet: Option<String>,
    pub(crate) sheets: Vec<Sheet>,
    pub(crate) header_line: u64,
    pub(crate) headings: Vec<Heading>,
    pub(crate) date_order: Option<String>,
    pub(crate) decimal: Option<String>,
}

/// A worksheet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Sheet {
    pub(crate) name: String,
    pub(crate) rows: Option<usize>,
    pub(crate) hidden: bool,
}

/// A heading of a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Heading {
    #[serde(rename = "heading")]
    pub(crate) text: String,
    pub(crate) column: Option<String>,
    pub(crate) samples: Vec<String>,
}

/// The texts of a row by the names of their columns.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RowCells {
    pub(crate) row: usize,
    pub(crate) line: u64,
    pub(crate) file: Option<String>,
    pub(crate) cells: BTreeMap<String, String>,
}

/// What a row changes in a load.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RowChanges {
    pub(crate) load_id: String,
    pub(crate) changes: BTreeMap<String, Change>,
}

/// A new row whose reference a load of another date has.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct SameReference {
    pub(crate) row: usize,
    pub(crate) load_id: String,
    #[serde(rename = "deliveryDateISO")]
    pub(crate) delivery: String,
}

/// A batch of the past.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct StoredBatch {
    pub(crate) id: String,
    pub(crate) files: Vec<String>,
    #[serde(rename = "createdAtUTC")]
    pub(crate) created_at: String,
    pub(crate) user_id: String,
    pub(crate) user_name: String,
    pub(crate) count: u64,
    pub(crate) updated: u64,
}

/// What became of the loads of a batch that was undone.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Undone {
    pub(crate) count: u64,
    pub(crate) skipped: u64,
}
