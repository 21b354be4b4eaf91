//! The upload form: its published schema, how it is read, and its rules (`docs/api/files.md`, "Upload").

use std::str::FromStr;

use actix_web::HttpRequest;
use common::multipart::{self, FilePart, Limits, Payload};
use common::validation::{Code, ValidationErrors};
use common::wire::{
    ExternalId, ID_MESSAGE, NAME_MESSAGE, Name, TextForm, is_plain_id, is_plain_line, normalize_line,
};
use common::{Caller, Error, Fingerprint};
use database::{Id, Timestamp};
use serde_json::{Value, json};
use strum::VariantNames;
use utoipa::ToSchema;

use super::blob_store::{BlobStore, Staged};
use super::model::{Bucket, File, FileType, MAX_ORGANISATIONS, Organisations, Upload};
use super::responses::Binary;
use super::sniff;
use crate::Settings;

/// The names of the text fields.
const TEXT_FIELDS: [&str; 5] = ["bucket", "type", "name", "organisationId", "organisations"];
/// Maximum length of the id of an organisation and of a file name.
const MAX_NAME_CHARS: usize = 200;
const REQUIRED: &str = "is required";

/// The form of an upload.
#[derive(ToSchema)]
#[schema(example = json!({
    "bucket": "files", "type": "weighbridge", "name": "Ticket 48213.txt", "organisationId": "penybont-farm",
    "organisations": "hereford-haulage", "file": ["Ticket 48213: 28.9 t of feed barley, VX21 ABC"],
}))]
#[expect(dead_code, reason = "only its schema is used: a multipart form is parsed while it streams in")]
pub(super) struct FileUploadForm {
    bucket: Bucket,
    r#type: FileType,
    /// The content. Several parts create several files: by default up to 10. A deployment may allow more or fewer.
    // The setting `file_count` limits them, so the schema does not.
    #[schema(min_items = 1)]
    file: Vec<Binary>,
    /// The name of the first file. The others keep the file names of their parts.
    name: Name,
    /// The owner. By default the caller's organisation; only `admin` may name another one.
    #[schema(rename = "organisationId", nullable = false)]
    organisation_id: Option<ExternalId>,
    /// Comma-separated ids of organisations that may read the files too, up to 200. `*` means everybody.
    #[schema(
        nullable = false,
        pattern = r"^[^\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]*$"
    )]
    organisations: Option<String>,
}

/// A complete form whose file contents are staged. Its fields are not validated yet.
pub(super) struct UploadForm(multipart::Form<UploadedPart>);

/// A `file` part.
struct UploadedPart {
    /// The file name of the part.
    name: Option<String>,
    /// The media type that the part declares.
    declared: Option<String>,
    /// The content.
    content: Staged,
}

/// The parsed text fields. A field that failed validation has its default value.
struct TextFields {
    bucket: Bucket,
    kind: FileType,
    name: String,
    organisation_id: Option<String>,
    organisations: Organisations,
}

impl UploadForm {
    /// Reads the form and stages the content of its files. [`UploadForm::check`] validates the fields.
    ///
    /// # Errors
    /// 400 for an incomplete form or too many files, 413, 415, 503.
    pub(super) async fn receive(
        request: &HttpRequest,
        payload: Payload,
        settings: &Settings,
        blob_store: &BlobStore,
    ) -> Result<Self, Error> {
        let limits = Limits {
            texts: &TEXT_FIELDS,
            text_bytes: multipart::MAX_TEXT_BYTES,
            files: settings.file_count,
            file_bytes: settings.file_bytes,
        };
        multipart::receive(request, payload, limits, async |part| stage(part, blob_store).await)
            .await
            .map(Self)
    }

    /// Returns what identifies the request for idempotency.
    ///
    /// # Errors
    /// 500 if the fields cannot be serialized.
    pub(super) fn fingerprint(&self, request: &HttpRequest) -> Result<Fingerprint, Error> {
        self.0.fingerprint(request, |part| (&part.name, &part.declared, &part.content.hash))
    }

    /// Returns the contents of the `file` parts.
    pub(super) fn into_contents(self) -> Vec<Staged> {
        self.0.files.into_iter().map(|part| part.content).collect()
    }

    /// Validates the fields and returns the files to create.
    ///
    /// # Errors
    /// 400 with every invalid field; otherwise 403 if the caller may not upload for the organisation.
    pub(super) fn check(&self, caller: &Caller) -> Result<Upload, Error> {
        let mut errors = self.0.errors.clone();
        let fields = self.text_fields(&mut errors);
        let names = self.check_parts(&fields, &mut errors);
        errors.check()?;
        if fields.organisation_id.as_deref().is_some_and(|o| !caller.admin && !caller.acts_for(o)) {
            return Err(Error::Forbidden("You may upload files for your own organisation only."));
        }
        let own = caller.organisation.as_ref().map(|o| o.id.clone());
        let owner = fields.organisation_id.or(own);
        let now = Timestamp::now();
        let mut files = self.0.files.iter().zip(names).map(|(part, name)| File {
            id: Id::new(),
            bucket: fields.bucket,
            kind: fields.kind,
            organisation_id: owner.clone(),
            name,
            hash: part.content.hash.clone(),
            content_type: sniff::content_type(&part.content.head, part.declared.as_deref()),
            size: part.content.size.cast_signed(),
            user_id: caller.user_id.clone(),
            user_name: caller.user_name.clone(),
            organisations: fields.organisations.clone(),
            created_at: now,
            archived_at: None,
        });
        let first = files.next().ok_or_else(|| ValidationErrors::one("file", Code::Required, REQUIRED))?;
        Ok(Upload { first, additional: files.collect() })
    }

    fn text_fields(&self, errors: &mut ValidationErrors) -> TextFields {
        let owner = self.0.last("organisationId").filter(|text| !text.trim().is_empty());
        TextFields {
            bucket: self.variant("bucket", errors),
            kind: self.variant("type", errors),
            name: self
                .required("name", errors)
                .and_then(|name| accept(base_name(name), "name", errors))
                .unwrap_or_default(),
            organisation_id: owner.and_then(|id| accept(organisation_id(id), "organisationId", errors)),
            organisations: self.organisations(errors),
        }
    }

    fn organisations(&self, errors: &mut ValidationErrors) -> Organisations {
        let mut organisations = Organisations::default();
        let lists = self.0.texts.iter().filter(|(name, _)| name == "organisations");
        for id in lists.flat_map(|(_, list)| list.split(',')).map(str::trim).filter(|id| !id.is_empty()) {
            let id = accept(organisation_id(id), "organisations", errors);
            organisations.add(id.as_slice());
            if organisations.0.len() > MAX_ORGANISATIONS {
                let too_many = length(0, MAX_ORGANISATIONS, "organisations");
                accept::<()>(Err(too_many), "organisations", errors);
                break;
            }
        }
        organisations
    }

    /// Validates the `file` parts and returns the name of each file.
    fn check_parts(&self, fields: &TextFields, errors: &mut ValidationErrors) -> Vec<String> {
        if self.0.files.is_empty() {
            errors.push("file", Code::Required, REQUIRED);
        }
        let mut names = Vec::with_capacity(self.0.files.len());
        for (i, part) in self.0.files.iter().enumerate() {
            if part.content.size == 0 {
                let data = json!({ "minimum": 1, "index": i });
                errors.push_with("file", Code::Length, "must not be empty", data);
            } else if fields.bucket == Bucket::Images && sniff::image(&part.content.head).is_none() {
                let data = json!({ "allowed": sniff::IMAGES, "index": i });
                errors.push_with("file", Code::Format, "must be an image in the bucket images", data);
            }
            let own = part.name.as_deref().filter(|name| i > 0 && !name.trim().is_empty());
            // The name of a file may have line breaks, that of a stored one has not.
            let own = own.map(|name| name.replace("\r\n", " ").replace(['\r', '\n'], " "));
            let own = own.and_then(|name| accept(base_name(&name), "file", errors));
            names.push(own.unwrap_or_else(|| fields.name.clone()));
        }
        names
    }

    fn required(&self, name: &str, errors: &mut ValidationErrors) -> Option<&str> {
        let text = self.0.last(name);
        if text.is_none() {
            errors.push(name, Code::Required, REQUIRED);
        }
        text
    }

    fn variant<T: FromStr + VariantNames + Default>(&self, name: &str, errors: &mut ValidationErrors) -> T {
        let Some(text) = self.required(name, errors) else { return T::default() };
        text.trim().parse().unwrap_or_else(|_| {
            let message = format!("must be one of {}", T::VARIANTS.join(", "));
            errors.push_with(name, Code::Enum, message, json!({ "allowed": T::VARIANTS }));
            T::default()
        })
    }
}

async fn stage(mut part: FilePart<'_>, blob_store: &BlobStore) -> Result<UploadedPart, Error> {
    let mut staging = blob_store.stage();
    while let Some(chunk) = part.next().await? {
        staging.push(&chunk).await?;
    }
    Ok(UploadedPart { content: staging.finish().await?, name: part.name, declared: part.declared })
}

/// The code, message and data of a validation entry.
type Invalid = (Code, String, Value);

/// Returns the value. On an error adds an entry for the field to `errors` and returns `None`.
fn accept<T>(result: Result<T, Invalid>, path: &str, errors: &mut ValidationErrors) -> Option<T> {
    result.map_err(|(code, message, data)| errors.push_with(path, code, message, data)).ok()
}

/// Returns the entry for too few or too many of `unit`.
fn length(minimum: usize, maximum: usize, unit: &str) -> Invalid {
    let message = format!("must have {minimum} to {maximum} {unit}");
    (Code::Length, message, json!({ "minimum": minimum, "maximum": maximum }))
}

/// Normalizes the id of an organisation, which has 1 to 200 characters.
fn organisation_id(text: &str) -> Result<String, Invalid> {
    let id = TextForm::Id.normalize(text);
    if !is_plain_id(&id) {
        return Err((Code::Format, ID_MESSAGE.into(), json!({})));
    }
    of_permitted_length(&id)
}

fn of_permitted_length(text: &str) -> Result<String, Invalid> {
    let is_permitted = (1..=MAX_NAME_CHARS).contains(&text.chars().count());
    if is_permitted { Ok(text.to_owned()) } else { Err(length(1, MAX_NAME_CHARS, "characters")) }
}

/// Normalizes a file name. Keeps only the last component of a path.
fn base_name(path: &str) -> Result<String, Invalid> {
    let name = path.rsplit(['/', '\\']).next().filter(|name| !matches!(name.trim(), "." | ".."));
    let name = normalize_line(name.unwrap_or_default());
    if !is_plain_line(&name) {
        return Err((Code::Format, NAME_MESSAGE.into(), json!({})));
    }
    of_permitted_length(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_name_keeps_the_last_component() {
        let base_name = |path: &str| base_name(path).ok();
        assert_eq!(base_name("C:\\tickets\\ 7.pdf "), Some("7.pdf".into()));
        assert_eq!(base_name("../../etc/passwd"), Some("passwd".into()));
        assert_eq!(
            base_name("Wiegeschein \u{1f411} \"7\".pdf"),
            Some("Wiegeschein \u{1f411} \"7\".pdf".into())
        );
        for invalid in ["", " ", "a/", "..", "a\\.", "a\nb", "a\u{0}", "\u{85}"] {
            assert_eq!(base_name(invalid), None, "{invalid:?}");
        }
        assert_eq!(base_name("\u{202e}gpj.exe"), None, "changes the direction");
        assert_eq!(base_name("\u{feff}a\u{200b}b"), Some("ab".into()));
        assert_eq!(base_name("e\u{301}.pdf "), Some("\u{e9}.pdf".into()));
        assert_eq!(base_name(&"e\u{301}".repeat(200)).map(|n| n.chars().count()), Some(200));
        assert_eq!(base_name(&"\u{e9}".repeat(200)).map(|n| n.chars().count()), Some(200));
        assert_eq!(base_name(&"x".repeat(201)), None);
    }
}
