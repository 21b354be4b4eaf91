//! The bodies of the operations that make links.

use common::wire::QueryText;
use database::Id;
use serde::Deserialize;
use utoipa::{PartialSchema, ToSchema};

use super::link::LinkTarget;
use super::maker::Maker;
use crate::examples;
use crate::files::ids::distinct_ids;
use crate::files::images::Width;

/// How long a link is valid by default, in seconds.
const DEFAULT_SECONDS: i64 = 3600;

/// How long a link is valid, and what it downloads.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "expiresInSeconds": 3600 }))]
pub(in crate::files) struct LinkForm {
    /// Seconds for which the link is valid, by default 3600: one hour.
    #[schema(minimum = 60, maximum = 604_800, nullable = false)]
    expires_in_seconds: Option<i64>,
    /// The width of a smaller image. Other files are linked as they are.
    #[schema(schema_with = Width::schema, required = false)]
    width: Option<Width>,
}

/// Files to link, how long the links are valid, and what they download.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({ "ids": [examples::FILE], "expiresInSeconds": 3600 }))]
pub(in crate::files) struct LinksForm {
    /// Ids of files. Texts that are not UUIDs are ignored.
    #[serde(default)]
    #[schema(required = true, min_items = 1, max_items = 50)]
    ids: Vec<QueryText>,
    #[serde(flatten)]
    link: LinkForm,
}

impl LinkForm {
    /// Returns the target of a link to a file.
    pub(in crate::files) fn target(&self, id: Id, maker: Maker) -> LinkTarget {
        LinkTarget::new(id, self.width, self.expires_in_seconds.unwrap_or(DEFAULT_SECONDS), maker)
    }
}

impl LinksForm {
    /// Returns the valid ids without duplicates.
    pub(in crate::files) fn ids(&self) -> Vec<Id> {
        distinct_ids(&self.ids)
    }

    /// Returns the target of a link to a file.
    pub(in crate::files) fn target(&self, id: Id, maker: Maker) -> LinkTarget {
        self.link.target(id, maker)
    }
}
