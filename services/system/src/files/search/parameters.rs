//! The query parameters of the file list.

use common::ListParams;
use common::validation::{Code, ValidationErrors};
use common::wire::QueryText;
use serde::Deserialize;
use serde_json::json;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use super::{FileSearch, order};
use crate::files::kind::{Bucket, FileType};
use crate::files::model::name_key;
use crate::files::responses::FileStatus;

/// The words of a query. Each costs a comparison with every name that is read.
const MAX_WORDS: usize = 16;

/// Query parameters of the list, besides [`ListParams`].
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(in crate::files) struct FileListParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// The id of the owner. By default the caller's organisation; `admin` sees all files.
    #[serde(rename = "f:organisationId")]
    #[param(example = "penybont-farm")]
    organisation_id: Option<QueryText>,
    /// What the files are used for.
    #[serde(rename = "f:type")]
    #[param(schema_with = kinds)]
    kind: Option<FileType>,
    /// `images` or `files`.
    #[serde(rename = "f:bucket")]
    #[param(schema_with = buckets)]
    bucket: Option<Bucket>,
    /// `active` or `archived`; by default both.
    #[serde(rename = "f:status")]
    #[param(schema_with = statuses)]
    status: Option<FileStatus>,
    /// At most 16 words that must all occur in the name.
    #[param(example = "ticket")]
    query: Option<QueryText>,
}

fn kinds() -> Object {
    words(FileType::VARIANTS)
}

fn buckets() -> Object {
    words(Bucket::VARIANTS)
}

fn statuses() -> Object {
    words(&["active", "archived"])
}

fn words(words: &'static [&'static str]) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied())).build()
}

impl FileListParams {
    /// Returns the search, and adds invalid parameters to `errors`.
    pub(in crate::files) fn parse(&self, errors: &mut ValidationErrors) -> FileSearch {
        let query = name_key(self.query.as_deref().unwrap_or_default());
        let words: Vec<_> = query.split_whitespace().map(str::to_owned).collect();
        if words.len() > MAX_WORDS {
            let maximum = json!({ "maximum": MAX_WORDS });
            errors.push_with("query", Code::Length, format!("must have at most {MAX_WORDS} words"), maximum);
        }
        FileSearch {
            organisation_id: self.organisation_id.as_ref().map(|id| id.0.clone()),
            kind: self.kind,
            bucket: self.bucket,
            status: self.status,
            words,
            page: self.page.parse(&order(), errors),
            count: self.page.count,
        }
    }
}
