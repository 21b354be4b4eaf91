//! Calls for batches of loads, and what the console reads of their answers (docs/api/batches.md).

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Body, Method, RequestBuilder, Response, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{Change, Warning};
use super::{CallError, Caller, Service, available, away, explained, segment};

/// Time for a batch of loads, which waits for its turn, and for undoing one.
pub(crate) const BATCH_TIMEOUT: Duration = Duration::from_secs(600);

impl Caller<'_> {
    /// Begins to send a batch of loads, whose form arrives meanwhile. The response may be an error, which says what is
    /// wrong with the rows.
    pub(crate) fn send_batch(
        &self,
        media_type: &str,
        form: Body,
        key: Option<&str>,
    ) -> impl Future<Output = Result<Response, CallError>> + Send + use<> {
        let request = self.begin(Service::Logistics, Method::POST, "/v1/loads/batch");
        self.send_long(request.header(header::CONTENT_TYPE, media_type).body(form), key)
    }

    /// Begins to undo a batch. The response may be an error.
    pub(crate) fn undo_batch(
        &self,
        id: &str,
        reason: &str,
        key: &str,
    ) -> Result<impl Future<Output = Result<Response, CallError>> + Send + use<>, CallError> {
        let path = format!("/v1/loads/batches/{}/cancel", segment(id));
        let body = if reason.is_empty() { json!({}) } else { json!({"reason": reason}) };
        let request = self.call(Service::Logistics, Method::POST, &path)?;
        Ok(self.send_long(request.json(&body), Some(key)))
    }

    /// Returns the response to a request, which comes also when the person's request has ended.
    fn send_long(
        &self,
        request: RequestBuilder,
        key: Option<&str>,
    ) -> impl Future<Output = Result<Response, CallError>> + Send + use<> {
        let service = Service::Logistics;
        let address = self.api.addresses[service as usize].clone();
        let mut request = request.timeout(BATCH_TIMEOUT);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        async move {
            let sent = request.send().await;
            available(service, sent.map_err(|error| away(service, explained(error, &address)))?)
        }
    }
}

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
