//! The check of the content store for `check-config`.

use anyhow::ensure;
use common::Error;
use common::cli::Checks;

use super::{ContentName, ContentStore, builder};
use crate::Settings;
use crate::config::setting;

impl ContentStore {
    /// Checks the settings of the store, and that a content can be written, read and removed.
    pub(crate) async fn check(settings: &Settings, checks: &mut Checks) {
        let remedy = format!("change {} or the settings of the store beside it", setting("store_url"));
        let is_folder = settings.store_url.starts_with("file://");
        let invalid = if is_folder { None } else { builder::build(settings).err() };
        match invalid {
            // Also without a network.
            Some(error) => checks.run("store", &remedy, async { Err(error) }).await,
            None if is_folder => checks.run("store", &remedy, try_out(settings)).await,
            None => checks.run_online("store", &remedy, try_out(settings)).await,
        }
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

/// Returns the cause, which responses do not contain.
fn cause(error: Error) -> anyhow::Error {
    match error {
        Error::Unavailable(cause, _) | Error::Internal(cause) => cause,
        other => other.into(),
    }
}
