//! The API key of an external provider. It stays in this process, is never logged, and is reloaded from its file when
//! `POST /v1/cache` clears the secrets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use parking_lot::RwLock;
use secrecy::{ExposeSecret, SecretString};

use crate::cache::SecretReloader;
use crate::config::setting;

/// An API key from a setting or from a file.
pub(super) struct Credential {
    file: Option<PathBuf>,
    secrets: Arc<SecretReloader>,
    loaded: RwLock<LoadedKey>,
}

#[derive(Clone)]
struct LoadedKey {
    key: SecretString,
    /// Generation of secrets that the key was loaded in.
    generation: u64,
}

impl Credential {
    /// Loads the key from the setting `name`, or from the file that the setting `<name>_file` names.
    ///
    /// # Errors
    /// Fails if none or both of the settings are set, or the file is unreadable or empty.
    pub(super) fn open(
        name: &str,
        key: Option<&SecretString>,
        file: Option<&Path>,
        secrets: &Arc<SecretReloader>,
    ) -> anyhow::Result<Self> {
        let key = key.filter(|key| !key.expose_secret().is_empty());
        let file_setting = setting(&format!("{name}_file"));
        let generation = secrets.generation();
        let key = match (key, file) {
            (Some(key), None) => key.clone(),
            (None, Some(path)) => read_key(path)
                .with_context(|| format!("{file_setting}: set it to a file that contains the key"))?,
            (None, None) => bail!("set {} or {file_setting} to the provider's key", setting(name)),
            (Some(_), Some(_)) => bail!("set either {} or {file_setting}, not both", setting(name)),
        };
        Ok(Self {
            file: file.map(Path::to_owned),
            secrets: secrets.clone(),
            loaded: RwLock::new(LoadedKey { key, generation }),
        })
    }

    /// Returns the current key. Keeps the previous key if the file cannot be reloaded.
    pub(super) fn current(&self) -> SecretString {
        let loaded = self.loaded.read().clone();
        let generation = self.secrets.generation();
        let Some(file) = self.file.as_ref().filter(|_| loaded.generation != generation) else {
            return loaded.key;
        };
        match read_key(file) {
            Ok(key) => {
                *self.loaded.write() = LoadedKey { key: key.clone(), generation };
                key
            }
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "cannot reload the provider's key");
                loaded.key
            }
        }
    }
}

/// Reads a key file. Blocks: the file is local and has one short line.
fn read_key(path: &Path) -> anyhow::Result<SecretString> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(!text.trim().is_empty(), "{} is empty", path.display());
    Ok(text.trim().into())
}
