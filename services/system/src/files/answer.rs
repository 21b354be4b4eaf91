//! Files as answers show them (interface.md, 2.2 and 2.3).

use database::{Id, Timestamp};
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::kind::{Bucket, FileType};
use super::model::{File, Upload};

/// Whether a file is in use.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is.
    Active,
    /// It was deleted: known still, but its content is for `admin` only.
    Archived,
}

impl Status {
    fn of(file: &File) -> Self {
        if file.archived_at.is_some() { Self::Archived } else { Self::Active }
    }
}

/// What is known of a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileInfo {
    /// The file's id; only where files are resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = Uuid, nullable = false, required = false)]
    pub id: Option<Id>,
    /// `active` or `archived`; not within a File record, which has it itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<Status>,
    /// `images` or `files`.
    pub bucket: Bucket,
    /// What it is for.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// The organisation that owns it; left out if it belongs to the user alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organisation_id: Option<String>,
    /// Its name.
    pub name: String,
    /// `sha256:` and the hash of the content in hex.
    pub hash: String,
    /// Media type, found from the content where possible.
    pub content_type: String,
    /// Where its content is downloaded.
    pub url: String,
    /// Who uploaded it.
    pub user_id: String,
    /// The name of who uploaded it.
    pub user_name: String,
    /// Organisations that may read it too; `*` is everybody. Complete for the file's organisation, its uploader acting
    /// for it and `admin`; others see their own organisation and `*` only. Where files are resolved, at most 200.
    pub organisations: Vec<String>,
    /// When it was uploaded.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl FileInfo {
    fn plain(file: File, public_url: &str) -> Self {
        Self {
            id: None,
            status: None,
            bucket: file.bucket,
            kind: file.kind,
            organisation_id: file.organisation_id,
            name: file.name,
            hash: format!("sha256:{}", file.hash),
            content_type: file.content_type,
            url: format!("{public_url}/v1/files/{}", file.id),
            user_id: file.user_id,
            user_name: file.user_name,
            organisations: file.organisations.0,
            created_at: file.created_at,
        }
    }

    /// As the file-information operation answers. The file is [as its caller sees it](File::seen_by).
    pub fn of(file: File, public_url: &str) -> Self {
        Self { status: Some(Status::of(&file)), ..Self::plain(file, public_url) }
    }

    /// As the resolve operation answers. The file is [as its caller sees it](File::seen_by).
    pub fn resolved(file: File, public_url: &str) -> Self {
        Self { id: Some(file.id), ..Self::of(file, public_url) }
    }
}

/// A file that was uploaded.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    /// Its id.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// None yet.
    pub tags: Vec<String>,
    /// What is known of it.
    pub info: FileInfo,
    /// The organisation that owns it; left out if it belongs to the user alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organisation_id: Option<String>,
    /// Who uploaded it.
    pub user_id: String,
    /// What it is for.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// `active`
    pub status: Status,
}

impl FileRecord {
    fn of(file: &File, public_url: &str) -> Self {
        Self {
            id: file.id,
            tags: Vec::new(),
            info: FileInfo::plain(file.clone(), public_url),
            organisation_id: file.organisation_id.clone(),
            user_id: file.user_id.clone(),
            kind: file.kind,
            status: Status::of(file),
        }
    }
}

/// The answer to an upload: the first file, and those that came with it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Uploaded {
    /// The file of the first part.
    #[serde(flatten)]
    pub first: FileRecord,
    /// The files of the other parts, in their order.
    pub additional: Vec<FileRecord>,
}

impl Uploaded {
    /// Of the files of one upload.
    pub fn of(upload: &Upload, public_url: &str) -> Self {
        let record = |file| FileRecord::of(file, public_url);
        Self { first: record(&upload.first), additional: upload.additional.iter().map(record).collect() }
    }
}

/// Content: bytes of any kind.
pub struct Binary;

impl PartialSchema for Binary {
    fn schema() -> RefOr<Schema> {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
    }
}
impl ToSchema for Binary {}
