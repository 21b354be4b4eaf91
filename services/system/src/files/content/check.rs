//! The check of the content store for `check-config`.

use anyhow::ensure;
use common::Error;
use common::cli::Checks;

use super::{ContentName, ContentStore, builder};
use crate::Settings;
use crate::config::setting;

impl ContentStore {
    /// Checks the settings of the store, and that a content can be written, read and removed.
    ///
    /// # Errors
    /// One sentence that says which setting to change.
    pub(crate) async fn check(settings: &Settings, checks: &mut Checks) -> anyhow::Result<()> {
        let remedy = format!("change {} or the settings of the store beside it", setting("store_url"));
        if settings.store_url.starts_with("file://") {
            checks.run("store", &remedy, try_out(settings)).await;
        } else {
            builder::build(settings)?;
            checks.run_online("store", &remedy, try_out(settings)).await;
        }
        Ok(())
    }
}

/// Stores a content, reads it, and removes it. Returns where it was, for people.
async fn try_out(settings: &Settings) -> anyhow::Result<String> {
    let store = ContentStore::open(settings).await?;
    let mut staging = store.stage();
    staging.push(b"written by check-config").await.map_err(cause)?;
    let staged = staging.finish().await.map_err(cause)?;
    let (name, size) = (ContentName::new(&staged.hash), staged.size);
    store.put(staged, &name).await.map_err(cause)?;
    let stored = store.contains(&name, size).await;
    let read = store.read(&name, 0..size).await.map(drop);
    store.remove(vec![name]).await.map_err(cause)?;
    ensure!(stored.map_err(cause)?, "the store lacks what was just written");
    read.map_err(cause)?;
    Ok(settings.store_url.clone())
}

/// Returns what went wrong, which clients are not told.
fn cause(error: Error) -> anyhow::Error {
    match error {
        Error::Unavailable(cause, _) | Error::Internal(cause) => cause,
        other => other.into(),
    }
}
