//! The multipart form of a batch, and errors of its files and of the temporary folder that holds them.

use std::fs::File;
use std::io;

use actix_web::HttpRequest;
use common::Error;
use common::multipart::{self, FilePart, Form, Limits, Payload};
use common::validation::{Code, ValidationErrors};
use common::wire::{ExternalId, Name};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tables::{TableError, TextEncoding};
use tokio::io::AsyncWriteExt;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    Array, ArrayBuilder, KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::Batches;
use super::corrections::{Corrections, MAX_CORRECTIONS};
use super::headings::Headings;
use super::options::{
    Choice, DateOrder, DecimalSeparator, IfExists, Include, InvalidRows, MatchBy, SheetFormat,
};

/// The text fields, with the words that each may have. Words are accepted in any case.
const TEXT_FIELDS: [(&str, &[&str]); 15] = [
    ("organisationId", &[]),
    ("organisationName", &[]),
    ("dryRun", BOOLEANS),
    ("repeat", BOOLEANS),
    ("ifExists", IF_EXISTS),
    ("matchBy", MATCH_BY),
    ("invalidRows", INVALID_ROWS),
    ("dateOrder", DATE_ORDERS),
    ("decimal", DECIMALS),
    ("encoding", ENCODINGS),
    ("sheet", &[]),
    ("headings", &[]),
    ("corrections", &[]),
    ("include", INCLUDED),
    ("format", FORMATS),
];
const BOOLEANS: &[&str] = &["true", "false"];
const IF_EXISTS: &[&str] = &["create", "skip", "refuse", "update"];
const MATCH_BY: &[&str] = &["referenceAndDate", "reference"];
const INVALID_ROWS: &[&str] = &["refuse", "leaveOut"];
const DATE_ORDERS: &[&str] = &["iso", "dmy", "mdy", "auto"];
const DECIMALS: &[&str] = &["point", "comma", "auto"];
const ENCODINGS: &[&str] = &["utf-8", "windows-1252", "auto"];
const INCLUDED: &[&str] = &["rows", "sameReference"];
const FORMATS: &[&str] = &["CSV", "XLSX"];
/// Maximum size of a text field in bytes: 1,000 corrections have some 100 bytes each.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// A batch of loads.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({
    "organisationId": "penybont-farm", "organisationName": "Penybont Farm", "dryRun": true,
    "ifExists": "create", "sheet": "Loads", "dateOrder": "auto", "decimal": "auto", "encoding": "auto",
    "headings": { "Our ref": "reference" }, "corrections": [{ "row": 0, "column": "weight", "value": "28.5" }],
    "file": ["Our ref,deliveryDateISO,commodityName,weight,tags\r\nPB-2026-0302,2026-03-02,Feed Barley,285,spring\r\n"],
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
    #[schema(schema_with = if_exists)]
    pub(crate) if_exists: IfExists,
    #[schema(schema_with = match_by)]
    pub(crate) match_by: MatchBy,
    #[schema(schema_with = invalid_rows)]
    pub(crate) invalid_rows: InvalidRows,
    #[schema(schema_with = date_order)]
    pub(crate) date_order: Choice<DateOrder>,
    #[schema(schema_with = decimal)]
    pub(crate) decimal: Choice<DecimalSeparator>,
    #[schema(schema_with = encoding)]
    pub(crate) encoding: Choice<TextEncoding>,
    /// The name of the worksheet to read in every workbook, in any case, also of a hidden one. Without it, the first
    /// visible worksheet with a header row is read.
    #[serde(deserialize_with = "absent")]
    pub(crate) sheet: Option<String>,
    #[serde(deserialize_with = "absent")]
    #[schema(schema_with = headings)]
    pub(crate) headings: Headings,
    #[serde(deserialize_with = "absent")]
    #[schema(schema_with = corrections)]
    pub(crate) corrections: Corrections,
    #[schema(schema_with = include)]
    pub(crate) include: Option<Include>,
    #[schema(schema_with = sheet_format)]
    pub(crate) format: Option<SheetFormat>,
}

/// Returns the default for a field that is parsed apart from the others.
fn absent<'de, D: Deserializer<'de>, T: Default>(field: D) -> Result<T, D::Error> {
    IgnoredAny::deserialize(field)?;
    Ok(T::default())
}

fn if_exists() -> Object {
    word(IF_EXISTS, "What happens to rows whose loads exist already. Default: `create`.")
}

fn match_by() -> Object {
    let description = "What identifies the load of a row besides `id`: reference and delivery date, or the reference \
        alone. Default: `referenceAndDate`.";
    word(MATCH_BY, description)
}

fn invalid_rows() -> Object {
    let description = "`refuse`: a batch with an invalid row is refused. `leaveOut`: invalid rows are left out. \
        Default: `refuse`.";
    word(INVALID_ROWS, description)
}

fn date_order() -> Object {
    let description = "The order of day and month in dates that are texts. ISO dates are accepted in every order. \
        `auto`: decided for each file by its texts. Default: `iso`.";
    word(DATE_ORDERS, description)
}

fn decimal() -> Object {
    let description = "The decimal separator of numbers that are texts. `auto`: decided for each file by its texts. \
        Default: `point`.";
    word(DECIMALS, description)
}

fn encoding() -> Object {
    let description = "The encoding of CSV files without a byte order mark. `auto`: `utf-8` if the bytes are valid, \
        else `windows-1252`. Default: `utf-8`.";
    word(ENCODINGS, description)
}

fn headings() -> Object {
    let column = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Null])).build();
    let description =
        "The column of each heading that has another name, or `null` for a heading that is not read.";
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(RefOr::T(Schema::Object(column))))
        .description(Some(description))
        .build()
}

fn corrections() -> Array {
    let member = |kind: Type, description: &str| {
        ObjectBuilder::new().schema_type(kind).description(Some(description)).build()
    };
    let row = "The number of the row, from 0, as in the path of an entry.";
    let column = "The name of the column, also of one that the file lacks.";
    let value = "The text, which is read like a text cell. An empty one empties the cell.";
    let correction = ObjectBuilder::new()
        .property("row", member(Type::Integer, row))
        .property("column", member(Type::String, column))
        .property("value", member(Type::String, value))
        .required("row")
        .required("column")
        .required("value")
        .build();
    ArrayBuilder::new()
        .items(correction)
        .max_items(Some(MAX_CORRECTIONS))
        .description(Some("Texts that replace cells before all checks."))
        .build()
}

fn include() -> Object {
    word(
        INCLUDED,
        "`rows`: the response has the cells of the rows with entries, and of those in `sameReference`.",
    )
}

fn sheet_format() -> Object {
    let description = "A dry run of one file returns the sheet in this format, with a column `Problems`.";
    word(FORMATS, description)
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
    let texts = TEXT_FIELDS.map(|(name, _)| name);
    let limits = Limits {
        texts: &texts,
        text_bytes: MAX_TEXT_BYTES,
        files: batches.max_files,
        file_bytes: batches.limits.bytes,
    };
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
    // Some programs send the whole path.
    let name = part.name.map(|name| name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned());
    Ok(UploadedFile { name, hash: hash.finalize().into(), file: file.into_std().await, size })
}

/// Parses the fields of a form. Returns their errors too. An invalid field has its default value.
pub(crate) fn parse_form(form: &Form<UploadedFile>, batches: &Batches) -> (LoadBatchForm, ValidationErrors) {
    let mut value = json!({});
    for (name, words) in TEXT_FIELDS {
        let Some(text) = form.last(name) else { continue };
        let word = words.iter().find(|word| word.eq_ignore_ascii_case(text.trim()));
        value[name] = match word {
            Some(word) if words == BOOLEANS => json!(*word == "true"),
            Some(word) => json!(word),
            None => json!(text),
        };
    }
    let mut errors = ValidationErrors::default();
    let mut take = |name: &str| {
        let text = value.as_object_mut().and_then(|fields| fields.remove(name));
        text.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let sheet = Some(take("sheet")).filter(|name| !name.trim().is_empty());
    let headings = Headings::parse(&take("headings"), &mut errors);
    let corrections = Corrections::parse(&take("corrections"), &mut errors);
    if !form.files.is_empty() {
        value["file"] = Value::Array(form.files.iter().map(|_| json!("")).collect());
    }
    let (mut fields, found) = batches.form.check(value);
    (fields.headings, fields.corrections) = (headings, corrections);
    fields.sheet = sheet;
    errors.extend(found);
    errors.extend(form.errors.clone());
    if fields.format.is_some() && (!fields.dry_run || form.files.len() > 1) {
        let message = "is only for dry runs of one file: send dryRun=true";
        errors.push("format", Code::Inconsistent, message);
    }
    if let Some(index) = form.files.iter().position(UploadedFile::is_empty) {
        errors.push_with("file", Code::Length, "must not be empty", json!({ "minimum": 1, "index": index }));
    }
    (fields, errors)
}

impl LoadBatchForm {
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
            Error::malformed_body(format!("the file{file}{line} {message}"))
        }
        TableError::Refused { fault, message, mut data } => {
            data.extend(file.map(|name| ("file".to_owned(), json!(name))));
            let mut errors = ValidationErrors::default();
            errors.push_with("file", fault.into(), message, data.into());
            Error::Validation(errors)
        }
        TableError::UnknownSheet(names) => {
            let message = format!("is no worksheet of the workbook: it has {}", names.join(", "));
            let mut data = json!({ "allowed": names });
            if let Some(file) = file {
                data["file"] = json!(file);
            }
            let mut errors = ValidationErrors::default();
            errors.push_with("sheet", Code::Enum, message, data);
            Error::Validation(errors)
        }
        TableError::TooLarge(limit) => Error::PayloadTooLarge(limit),
        TableError::Disk(error) => disk_error(error),
    }
}
