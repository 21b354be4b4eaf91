//! The form that a batch comes in.

use std::fs::File;
use std::io;

use actix_web::HttpRequest;
use common::Error;
use common::multipart::{self, FilePart, Form, Limits, Payload};
use common::validation::{Code, ValidationErrors};
use common::wire::Name;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::Batches;

const TEXTS: [&str; 4] = ["organisationId", "organisationName", "dryRun", "repeat"];

/// A batch of loads.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadBatchForm {
    /// CSV or XLSX, with a header row of the names of columns.
    #[schema(required = true, value_type = Vec<UploadedTable>, min_items = 1, max_items = 10)]
    file: Vec<String>,
    /// The organiser of rows that name none.
    organisation_id: Option<Name>,
    /// Its name. Not needed for the caller's own organisation if the token has it, neither here nor in rows.
    organisation_name: Option<Name>,
    /// `true`: the very same checks, and nothing is stored.
    pub dry_run: bool,
    /// `true`: stored even if the same content was before.
    pub repeat: bool,
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

/// A file that came in; it has no name on the disk and goes with this.
pub struct UploadedFile {
    /// The name it came with.
    pub name: Option<String>,
    /// Its SHA-256.
    pub hash: [u8; 32],
    pub file: File,
    size: usize,
}

impl UploadedFile {
    /// True for a file without content.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }
}

/// The organiser of rows that name none.
#[derive(Debug, Default)]
pub struct Organiser {
    pub id: Option<Name>,
    pub name: Option<Name>,
}

/// Reads the whole form.
///
/// # Errors
/// 400 for a body that is no whole form or has too many files, 413, 415, 503.
pub async fn receive(
    request: &HttpRequest,
    form: Payload,
    batches: &Batches,
) -> Result<Form<UploadedFile>, Error> {
    let limits = Limits { texts: &TEXTS, files: batches.files_max, file_bytes: batches.limits.bytes };
    multipart::receive(request, form, limits, keep).await
}

async fn keep(mut part: FilePart<'_>) -> Result<UploadedFile, Error> {
    let mut file = tokio::fs::File::from_std(tempfile::tempfile().map_err(disk)?);
    let (mut hash, mut size) = (Sha256::new(), 0);
    while let Some(chunk) = part.next().await? {
        hash.update(&chunk);
        size += chunk.len();
        file.write_all(&chunk).await.map_err(disk)?;
    }
    file.flush().await.map_err(disk)?;
    Ok(UploadedFile { name: part.name, hash: hash.finalize().into(), file: file.into_std().await, size })
}

/// The temporary folder is full or away.
pub fn disk(error: io::Error) -> Error {
    Error::Unavailable(error.into(), "The temporary folder")
}

/// The fields of a form, and what is wrong with them.
pub fn parse(form: &Form<UploadedFile>, batches: &Batches) -> (LoadBatchForm, ValidationErrors) {
    let mut value = json!({});
    for name in TEXTS {
        if let Some(text) = form.last(name) {
            value[name] = match text.trim() {
                "true" | "false" if matches!(name, "dryRun" | "repeat") => json!(text.trim() == "true"),
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
    /// The organiser of rows that name none. One that was refused stands in for what it will be, so that no row is
    /// said to lack it.
    pub fn organiser(&mut self, errors: &ValidationErrors) -> Organiser {
        let field = |name: &str, value: Option<Name>| {
            if errors.failed(name) { Some(Name("-".into())) } else { value }
        };
        Organiser {
            id: field("organisationId", self.organisation_id.take()),
            name: field("organisationName", self.organisation_name.take()),
        }
    }
}
