//! What this service alone is told.

use serde::{Deserialize, Serialize};

/// Section `service` of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Where the content of files is kept: `file://` and a folder, absolute or from where the service starts.
    pub store_url: String,
    /// The most bytes of an uploaded file.
    pub file_bytes: usize,
    /// The most files of one upload.
    pub file_count: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { store_url: "file://./files".into(), file_bytes: 25 << 20, file_count: 10 }
    }
}
