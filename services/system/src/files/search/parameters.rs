//! The query parameters of the file list.

use common::validation::ValidationErrors;
use common::wire::QueryText;
use common::{ListParams, parse_words, text_choice};
use serde::Deserialize;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;

use super::{FileSearch, order};
use crate::files::kind::{Bucket, FileType};
use crate::files::responses::FileStatus;

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
    text_choice(FileType::VARIANTS)
}

fn buckets() -> Object {
    text_choice(Bucket::VARIANTS)
}

fn statuses() -> Object {
    text_choice(&["active", "archived"])
}

impl FileListParams {
    /// Returns the search, and adds invalid parameters to `errors`.
    pub(in crate::files) fn parse(&self, errors: &mut ValidationErrors) -> FileSearch {
        FileSearch {
            organisation_id: self.organisation_id.as_ref().map(|id| id.0.clone()),
            kind: self.kind,
            bucket: self.bucket,
            status: self.status,
            words: parse_words(self.query.as_ref(), errors),
            page: self.page.parse(&order(), errors),
            count: self.page.count,
        }
    }
}
