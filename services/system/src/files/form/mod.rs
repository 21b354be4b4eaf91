//! The form of an upload and its rules (interface.md, 2.1; contract, sections 3 and 6).

mod text;

use std::fmt::Display;

use common::validation::{Code, ValidationErrors};
use common::wire::Name;
use common::{Caller, Error, multipart};
use database::{Id, Timestamp};
use serde_json::json;
use utoipa::ToSchema;

use super::content::Staged;
use super::kind::{Bucket, FileType};
use super::model::{File, MAX_ORGANISATIONS, Organisations, Upload};
use super::sniff;
use text::{accept, base_name, length, line};

/// The fields that are text.
pub(super) const TEXTS: [&str; 5] = ["bucket", "type", "name", "organisationId", "organisations"];
const MISSING: &str = "is required";

/// The form of an upload.
#[derive(ToSchema)]
#[schema(as = FileUploadForm)]
#[expect(dead_code, reason = "only its schema is used: a multipart form is read as it streams in")]
pub(super) struct FileUploadForm {
    bucket: Bucket,
    r#type: FileType,
    /// The content; several parts make several files.
    #[schema(min_items = 1, max_items = 10)]
    file: Vec<super::answer::Binary>,
    /// The name of the first file; the others take their part's file name.
    name: Name,
    /// The owner: the caller's organisation, which is also the default; any for `admin`.
    #[schema(rename = "organisationId", nullable = false)]
    organisation_id: Option<Name>,
    /// Comma-separated ids of organisations that may read the files too, at most 200; `*` is everybody.
    #[schema(
        nullable = false,
        pattern = r"^[^\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]*$"
    )]
    organisations: Option<String>,
}

/// What was sent.
pub(super) struct Form(pub multipart::Form<Part>);

/// A `file` part.
pub(super) struct Part {
    /// The file name it came with.
    pub name: Option<String>,
    /// The media type it came with.
    pub declared: Option<String>,
    /// What is in it.
    pub content: Staged,
}

/// The text fields, understood. One that was refused has its default value.
#[derive(Default)]
struct Fields {
    bucket: Bucket,
    kind: FileType,
    name: String,
    organisation_id: Option<String>,
    organisations: Organisations,
}

impl Form {
    /// The files to be stored.
    ///
    /// # Errors
    /// 400 with every failed field; then 403 for another's organisation.
    pub(super) fn check(&self, caller: &Caller) -> Result<Upload, Error> {
        let mut errors = self.0.errors.clone();
        let fields = self.fields(&mut errors);
        let names = self.names(&fields, &mut errors);
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
        let first = files.next().ok_or_else(|| ValidationErrors::one("file", Code::Required, MISSING))?;
        Ok(Upload { first, additional: files.collect() })
    }

    fn fields(&self, errors: &mut ValidationErrors) -> Fields {
        let owner = self.0.last("organisationId").filter(|text| !text.trim().is_empty());
        Fields {
            bucket: self.word("bucket", &Bucket::ALL, errors),
            kind: self.word("type", &FileType::ALL, errors),
            name: self
                .required("name", errors)
                .and_then(|n| accept(base_name(n), "name", errors))
                .unwrap_or_default(),
            organisation_id: owner.and_then(|id| accept(line(id), "organisationId", errors)),
            organisations: self.organisations(errors),
        }
    }

    fn organisations(&self, errors: &mut ValidationErrors) -> Organisations {
        let mut found = Organisations::default();
        let lists = self.0.texts.iter().filter(|(name, _)| name == "organisations");
        for id in lists.flat_map(|(_, list)| list.split(',')).map(str::trim).filter(|id| !id.is_empty()) {
            let id = accept(line(id), "organisations", errors);
            found.add(id.as_slice());
            if found.0.len() > MAX_ORGANISATIONS {
                let refusal = length(0, MAX_ORGANISATIONS, "organisations");
                accept::<()>(Err(refusal), "organisations", errors);
                break;
            }
        }
        found
    }

    /// The name of each file, where its part is good.
    fn names(&self, fields: &Fields, errors: &mut ValidationErrors) -> Vec<String> {
        if self.0.files.is_empty() {
            errors.push("file", Code::Required, MISSING);
        }
        let mut names = Vec::with_capacity(self.0.files.len());
        for (i, part) in self.0.files.iter().enumerate() {
            if part.content.size == 0 {
                errors.push_with(
                    "file",
                    Code::Length,
                    "must not be empty",
                    json!({ "minimum": 1, "index": i }),
                );
            } else if fields.bucket == Bucket::Images && sniff::image(&part.content.head).is_none() {
                let data = json!({ "allowed": sniff::IMAGES, "index": i });
                errors.push_with("file", Code::Format, "must be an image in the bucket images", data);
            }
            let own = part.name.as_deref().filter(|name| i > 0 && !name.trim().is_empty());
            let own = own.and_then(|name| accept(base_name(name), "file", errors));
            names.push(own.unwrap_or_else(|| fields.name.clone()));
        }
        names
    }

    fn required(&self, name: &str, errors: &mut ValidationErrors) -> Option<&str> {
        let found = self.0.last(name);
        if found.is_none() {
            errors.push(name, Code::Required, MISSING);
        }
        found
    }

    fn word<T: TryFrom<String> + Display + Default>(
        &self,
        name: &str,
        all: &[T],
        errors: &mut ValidationErrors,
    ) -> T {
        let Some(word) = self.required(name, errors) else { return T::default() };
        T::try_from(word.trim().to_owned()).unwrap_or_else(|_| {
            let allowed: Vec<_> = all.iter().map(ToString::to_string).collect();
            let message = format!("must be one of {}", allowed.join(", "));
            errors.push_with(name, Code::Enum, message, json!({ "allowed": allowed }));
            T::default()
        })
    }
}
