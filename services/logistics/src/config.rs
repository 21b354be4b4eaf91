//! What the logistics service is told beyond what all services are.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Section `service`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Base URL of the system service, which knows the files.
    pub system_url: String,
    /// A CSV file with columns `id`, `name` and `category` that replaces the embedded commodities.
    pub commodities_file: Option<PathBuf>,
    /// The most files of a batch. They wait in the temporary folder of the machine (`TMPDIR`), which should be on a disk.
    pub batch_files: usize,
    /// The most bytes of each.
    pub batch_bytes: usize,
    /// The most rows of a batch.
    pub batch_rows: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            system_url: "http://127.0.0.1:8081".into(),
            commodities_file: None,
            batch_files: 10,
            batch_bytes: 25 << 20,
            batch_rows: 50_000,
        }
    }
}
