//! Fixtures that several modules share.

use system::Settings;
use tempfile::TempDir;

/// An address where nothing listens.
pub const UNREACHABLE: &str = "127.0.0.1:9";

/// Puts the content store into an empty folder, which is deleted on drop.
pub fn with_temp_store(settings: Settings) -> (Settings, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store_url = store_url(&folder);
    (Settings { store_url, ..settings }, folder)
}

/// Returns the URL of the content store in a folder.
pub fn store_url(folder: &TempDir) -> String {
    format!("file://{}/store", folder.path().display())
}
