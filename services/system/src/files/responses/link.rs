//! The responses with links (`docs/api/files.md`, "Links").

use database::{Id, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::files::links::{LinkKey, LinkTarget};

/// A link to a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Link {
    /// The absolute URL of a download that needs no token.
    url: String,
    /// When the link expires.
    #[serde(rename = "expiresAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// A link to one of several files.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileLink {
    /// The file's id.
    #[schema(value_type = String, format = Uuid)]
    id: Id,
    /// The link.
    #[serde(flatten)]
    link: Link,
}

impl Link {
    /// Returns the link to a target.
    pub(crate) fn of(target: &LinkTarget, public_url: &str, key: &LinkKey) -> Self {
        Self { url: target.url(public_url, key), expires_at: target.expires_at() }
    }
}

impl FileLink {
    /// Returns the link to a target.
    pub(crate) fn of(target: &LinkTarget, public_url: &str, key: &LinkKey) -> Self {
        Self { id: target.id, link: Link::of(target, public_url, key) }
    }
}
