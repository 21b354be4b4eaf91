//! The settings of the livestock service, besides those of all services.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The section `service` of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Base URL of the system service, which stores the files.
    #[serde(serialize_with = "common::config::redact::url_text")]
    pub system_url: String,
    /// CSV file with the columns `id`, `parent_id` and `name` that replaces the embedded categories.
    pub categories_file: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { system_url: "http://127.0.0.1:8081".into(), categories_file: None }
    }
}
