//! The multipart form of a batch, and errors of its files and of the temporary folder that holds them.

use std::fs::File;
use std::io;

use actix_web::HttpRequest;
use common::Error;
use common::multipart::{self, FilePart, Form, Limits, Payload};
use common::validation::{Code, ValidationErrors};
use common::wire::{ExternalId, Name};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tables::{TableError, TextEncoding};
use tokio::io::AsyncWriteExt;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::Batches;
use super::options::{CellOptions, DateOrder, DecimalSeparator, IfExists};

const TEXT_FIELDS: [&str; 8] = [
    "organisationId",
    "organisationName",
    "dryRun",
    "repeat",
    "ifExists",
    "dateOrder",
    "decimal",
    "encoding",
];
/// The text fields that have one of some words.
const WORD_FIELDS: [&str; 4] = ["ifExists", "dateOrder", "decimal", "encoding"];

/// A batch of loads.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({
    "organisationId": "penybont-farm", "organisationName": "Penybont Farm", "dryRun": false, "repeat": true,
    "ifExists": "create", "dateOrder": "iso", "decimal": "point", "encoding": "utf-8",
    "file": [
        "reference,deliveryDateISO,commodityName,weight,tags\r\nPB-2026-0302,2026-03-02,Feed Barley,28.5,spring\r\n",
    ],
}))]
pub(crate) struct LoadBatchForm {
    /// CSV or XLSX files with a header row of column names: by default up to 10. A deployment may allow more or fewer.
    // The setting `batch_files` limits them, so the schema does not.
    #[schema(required = true, value_type = Vec<UploadedTable>, min_items = 1)]
    file: Vec<String>,
    /// The organiser of rows that name none.
    organisation_id: Option<ExternalId>,
    /// The name of that organiser. For the caller's own organisation, the form and the rows can omit it if the token
    /// has it.
    organisation_name: Option<Name>,
    /// `true`: runs all checks and stores nothing.
    pub(crate) dry_run: bool,
    /// `true`: accepts content that was imported before.
    pub(crate) repeat: bool,
    /// What happens to rows whose loads exist already. Default: `create`.
    #[schema(schema_with = if_exists)]
    pub(crate) if_exists: IfExists,
    /// The order of day and month in dates that are texts. ISO dates are accepted in every order. Default: `iso`.
    #[schema(schema_with = date_order)]
    pub(crate) date_order: DateOrder,
    /// The decimal separator of numbers that are texts. Default: `point`.
    #[schema(schema_with = decimal)]
    pub(crate) decimal: DecimalSeparator,
    /// The encoding of CSV files without a byte order mark. Default: `utf-8`.
    #[schema(schema_with = encoding)]
    pub(crate) encoding: TextEncoding,
}

fn if_exists() -> Object {
    word(&["create", "skip", "refuse"], "What happens to rows whose loads exist already. Default: `create`.")
}

fn date_order() -> Object {
    let description = "The order of day and month in dates that are texts. ISO dates are accepted in every order. \
        Default: `iso`.";
    word(&["iso", "dmy", "mdy"], description)
}

fn decimal() -> Object {
    word(&["point", "comma"], "The decimal separator of numbers that are texts. Default: `point`.")
}

fn encoding() -> Object {
    let description = "The encoding of CSV files without a byte order mark. Default: `utf-8`.";
    word(&["utf-8", "windows-1252"], description)
}

/// Returns the schema of a field that has one of some words.
fn word(words: &[&str], description: &str) -> Object {
    let words = words.iter().copied();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
        .description(Some(description))
        .build()
}

/// A file.
struct UploadedTable;

impl PartialSchema for UploadedTable {
    fn schema() -> RefOr<Schema> {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
    }
}
impl ToSchema for UploadedTable {}

/// An uploaded file, stored as an unnamed temporary file that is deleted when it is dropped.
pub(crate) struct UploadedFile {
    /// The file name from the form.
    pub(crate) name: Option<String>,
    /// The SHA-256 of the content.
    pub(crate) hash: [u8; 32],
    /// The temporary file. Its position is at the end.
    pub(crate) file: File,
    size: usize,
}

impl UploadedFile {
    /// Returns true if the file has no content.
    pub(crate) fn is_empty(&self) -> bool {
        self.size == 0
    }
}

/// The organiser of rows that name none, from the form.
#[derive(Debug, Default)]
pub(crate) struct DefaultOrganiser {
    /// The id of the organisation.
    pub(crate) id: Option<ExternalId>,
    /// The name of the organisation.
    pub(crate) name: Option<Name>,
}

/// Reads the whole form and stores its files in the temporary folder.
///
/// # Errors
/// 400 for an incomplete form or too many files, 413, 415, 503.
pub(crate) async fn receive(
    request: &HttpRequest,
    form: Payload,
    batches: &Batches,
) -> Result<Form<UploadedFile>, Error> {
    let limits = Limits { texts: &TEXT_FIELDS, files: batches.max_files, file_bytes: batches.limits.bytes };
    multipart::receive(request, form, limits, store_file).await
}

async fn store_file(mut part: FilePart<'_>) -> Result<UploadedFile, Error> {
    let mut file = tokio::fs::File::from_std(tempfile::tempfile().map_err(disk_error)?);
    let (mut hash, mut size) = (Sha256::new(), 0);
    while let Some(chunk) = part.next().await? {
        hash.update(&chunk);
        size += chunk.len();
        file.write_all(&chunk).await.map_err(disk_error)?;
    }
    file.flush().await.map_err(disk_error)?;
    Ok(UploadedFile { name: part.name, hash: hash.finalize().into(), file: file.into_std().await, size })
}

/// Parses the fields of a form. Returns their errors too. An invalid field has its default value.
pub(crate) fn parse_form(form: &Form<UploadedFile>, batches: &Batches) -> (LoadBatchForm, ValidationErrors) {
    let mut value = json!({});
    for name in TEXT_FIELDS {
        if let Some(text) = form.last(name) {
            value[name] = match text.trim() {
                "true" | "false" if matches!(name, "dryRun" | "repeat") => json!(text.trim() == "true"),
                word if WORD_FIELDS.contains(&name) => json!(word.to_ascii_lowercase()),
                _ => json!(text),
            };
        }
    }
    if !form.files.is_empty() {
        value["file"] = Value::Array(form.files.iter().map(|_| json!("")).collect());
    }
    let (fields, mut errors) = batches.form.check(value);
    errors.extend(form.errors.clone());
    if let Some(index) = form.files.iter().position(UploadedFile::is_empty) {
        errors.push_with("file", Code::Length, "must not be empty", json!({ "minimum": 1, "index": index }));
    }
    (fields, errors)
}

impl LoadBatchForm {
    /// Returns how the texts of cells are read.
    pub(crate) fn cell_options(&self) -> CellOptions {
        CellOptions { date_order: self.date_order, decimal: self.decimal }
    }

    /// Takes the default organiser out of the form. An invalid field gets a placeholder, so that rows without an
    /// organiser are not reported as well.
    pub(crate) fn take_organiser(&mut self, errors: &ValidationErrors) -> DefaultOrganiser {
        let placeholder = |name: &str| errors.failed(name).then(|| "-".to_owned());
        DefaultOrganiser {
            id: placeholder("organisationId").map(ExternalId).or_else(|| self.organisation_id.take()),
            name: placeholder("organisationName").map(Name).or_else(|| self.organisation_name.take()),
        }
    }
}

/// Returns 503 for an error of the temporary folder, which may be full or missing.
pub(crate) fn disk_error(error: io::Error) -> Error {
    Error::Unavailable(error.into(), "The temporary folder")
}

/// Converts what is wrong with a file to the response. `file` is the name of the file if there are several.
pub(crate) fn table_error(error: TableError, file: Option<&str>) -> Error {
    match error {
        TableError::Unreadable(message, line) => {
            let file = file.map(|name| format!(" {name:?}")).unwrap_or_default();
            let line = line.map(|line| format!(", line {line},")).unwrap_or_default();
            Error::MalformedBody(format!("the file{file}{line} {message}"))
        }
        TableError::Refused { fault, message, mut data } => {
            data.extend(file.map(|name| ("file".to_owned(), json!(name))));
            let mut errors = ValidationErrors::default();
            errors.push_with("file", fault.into(), message, data.into());
            Error::Validation(errors)
        }
        TableError::TooLarge(limit) => Error::PayloadTooLarge(limit),
        TableError::Disk(error) => disk_error(error),
    }
}
