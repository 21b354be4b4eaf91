//! Files as they appear in responses (`docs/api/files.md`).

use common::{Caller, Error};
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::limits::{LargeResponses, ResponsePermit};
use super::model::{Bucket, File, FileType, MAX_ORGANISATIONS, Upload};

/// A response with at most this many files is not large. Ids that were stored before ids were normalized are an
/// exception (see [`resolve`](super::resolve)).
const MAX_SMALL_FILES: usize = 6;
/// Bytes of the members of a file that have about the same length in every file, rounded up.
const FIXED_FILE_BYTES: usize = 1024;

/// Whether a file is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = Status)]
pub(crate) enum FileStatus {
    /// The file is in use.
    Active,
    /// The file was deleted. Its information stays available; its content can be downloaded by `admin` only.
    Archived,
}

impl FileStatus {
    fn of(file: &File) -> Self {
        if file.archived_at.is_some() { Self::Archived } else { Self::Active }
    }
}

/// Information on a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileInfo {
    /// The file's id. Only in responses of the list and resolve operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = Uuid, nullable = false, required = false)]
    pub id: Option<Id>,
    /// `active` or `archived`. Absent inside a `FileRecord`, which has its own `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<FileStatus>,
    /// `images` or `files`.
    pub bucket: Bucket,
    /// What the file is used for.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// The organisation that owns the file. Absent if the file belongs to the user alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organisation_id: Option<String>,
    /// The file name.
    pub name: String,
    /// `sha256:` and the SHA-256 of the content in hexadecimal.
    pub hash: String,
    /// The media type. Detected from the content where possible.
    pub content_type: String,
    /// The absolute URL of the download.
    pub url: String,
    /// The id of the user who uploaded the file.
    pub user_id: String,
    /// The name of the user who uploaded the file.
    pub user_name: String,
    /// Organisations that may read the file too. `*` means everybody. The list is complete for the file's organisation,
    /// its uploader acting for that organisation, and `admin`. Others see their own organisation and `*` only.
    /// Responses of the list and resolve operations have at most 200 for each file.
    pub organisations: Vec<String>,
    /// When the file was uploaded.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl FileInfo {
    fn without_status(file: File, public_url: &str) -> Self {
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

    /// Returns the response of the info operation. Expects the file [as its caller sees it](File::seen_by).
    pub(crate) fn of(file: File, public_url: &str) -> Self {
        Self { status: Some(FileStatus::of(&file)), ..Self::without_status(file, public_url) }
    }

    /// Returns the entry for the list and resolve operations. Expects the file [as its caller sees it](File::seen_by).
    pub(crate) fn resolved(file: File, public_url: &str) -> Self {
        Self { id: Some(file.id), ..Self::of(file, public_url) }
    }
}

/// What a caller sees of files.
pub(crate) struct FileView {
    /// Who reads the files.
    pub caller: Caller,
    /// Leaves `organisations` empty.
    pub brief: bool,
    /// The beginning of the files' URLs.
    pub public_url: String,
}

impl FileView {
    /// Returns true if the response with these files may be large. A brief response is not: 50 files without
    /// organisations have less than half a MB. Neither is a response with few files.
    pub(super) fn may_be_large(&self, ids: &[Id]) -> bool {
        !self.brief && ids.len() > MAX_SMALL_FILES
    }

    /// Returns the information on files, as the caller sees them. A large response needs a permit: `held`, or else a
    /// free one.
    ///
    /// # Errors
    /// 503 if the response is large and no permit is free.
    pub(super) fn infos(
        &self,
        files: Vec<File>,
        large: &LargeResponses,
        held: Option<&ResponsePermit>,
    ) -> Result<(Vec<FileInfo>, Option<ResponsePermit>), Error> {
        let files: Vec<_> = files.into_iter().map(|file| self.apply(file)).collect();
        let permit = large.try_permit(&self.caller.tenant(), files.iter().map(json_size).sum(), held)?;
        let infos = files.into_iter().map(|file| FileInfo::resolved(file, &self.public_url)).collect();
        Ok((infos, permit))
    }

    fn apply(&self, file: File) -> File {
        let mut file = file.seen_by(&self.caller);
        file.organisations.0.truncate(if self.brief { 0 } else { MAX_ORGANISATIONS });
        file
    }
}

/// Returns the bytes of the file in a response, rounded up.
fn json_size(file: &File) -> usize {
    // Texts have no control characters, so JSON escapes only quotes and backslashes.
    let quoted = |text: &String| {
        text.len() + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count() + "\"\",".len()
    };
    let texts = [&file.name, &file.user_id, &file.user_name].into_iter().chain(&file.organisation_id);
    FIXED_FILE_BYTES + texts.chain(&file.organisations.0).map(quoted).sum::<usize>()
}

/// An uploaded file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileRecord {
    /// The file's id.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// Always empty.
    pub tags: Vec<String>,
    /// The information on the file.
    pub info: FileInfo,
    /// The organisation that owns the file. Absent if the file belongs to the user alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organisation_id: Option<String>,
    /// The id of the user who uploaded the file.
    pub user_id: String,
    /// What the file is used for.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// `active`
    pub status: FileStatus,
}

impl FileRecord {
    fn of(file: &File, public_url: &str) -> Self {
        Self {
            id: file.id,
            tags: Vec::new(),
            info: FileInfo::without_status(file.clone(), public_url),
            organisation_id: file.organisation_id.clone(),
            user_id: file.user_id.clone(),
            kind: file.kind,
            status: FileStatus::of(file),
        }
    }
}

/// The response to an upload.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Uploaded {
    /// The file of the first part.
    #[serde(flatten)]
    pub first: FileRecord,
    /// The files of the other parts, in the order of the parts.
    pub additional: Vec<FileRecord>,
}

impl Uploaded {
    /// Returns the response for the files of one upload.
    pub(crate) fn of(upload: &Upload, public_url: &str) -> Self {
        let record = |file| FileRecord::of(file, public_url);
        Self { first: record(&upload.first), additional: upload.additional.iter().map(record).collect() }
    }
}

/// How much of the store an owner uses.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StorageUsage {
    /// The sum of the sizes of all files. Equal contents count for each file, smaller copies of images do not.
    pub bytes: i64,
    /// The number of files.
    pub files: i64,
    /// The most bytes that the files may have.
    pub maximum_bytes: i64,
}

/// The schema of content: any bytes.
pub(crate) struct Binary;

impl PartialSchema for Binary {
    fn schema() -> RefOr<Schema> {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
    }
}
impl ToSchema for Binary {}
