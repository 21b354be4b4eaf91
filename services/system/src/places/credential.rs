//! The key of an outside provider: kept in this process only, never shown, and read again from its file when
//! `POST /v1/cache` says so of all secrets.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context, bail, ensure};
use secrecy::{ExposeSecret, SecretString};

use crate::cache::Secrets;

/// A key, given or in a file.
pub(super) struct Credential {
    file: Option<PathBuf>,
    secrets: Arc<Secrets>,
    /// What was read, and in which generation of secrets.
    held: RwLock<(SecretString, u64)>,
}

impl Credential {
    /// The key of the setting of this name, or the one in the file that the setting `<name>_file` names.
    ///
    /// # Errors
    /// If there is none, or both, or the file cannot be read.
    pub(super) fn open(
        setting: &str,
        key: Option<&SecretString>,
        file: Option<&Path>,
        secrets: &Arc<Secrets>,
    ) -> anyhow::Result<Self> {
        let key = key.filter(|key| !key.expose_secret().is_empty());
        let generation = secrets.generation();
        let key = match (key, file) {
            (Some(key), None) => key.clone(),
            (None, Some(path)) => read(path).with_context(|| format!("service.{setting}_file"))?,
            (None, None) => bail!("service.{setting} or service.{setting}_file must be set"),
            (Some(_), Some(_)) => bail!("set one of service.{setting} and service.{setting}_file, not both"),
        };
        Ok(Self {
            file: file.map(Path::to_owned),
            secrets: secrets.clone(),
            held: RwLock::new((key, generation)),
        })
    }

    /// The key as it is now. One that cannot be read again stays.
    pub(super) fn current(&self) -> SecretString {
        let (key, held) = self.held.read().unwrap_or_else(PoisonError::into_inner).clone();
        let generation = self.secrets.generation();
        let Some(file) = self.file.as_ref().filter(|_| held != generation) else { return key };
        match read(file) {
            Ok(fresh) => {
                *self.held.write().unwrap_or_else(PoisonError::into_inner) = (fresh.clone(), generation);
                fresh
            }
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "the provider's key could not be read again");
                key
            }
        }
    }
}

/// One short line of a local file: not worth a thread.
fn read(path: &Path) -> anyhow::Result<SecretString> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(!text.trim().is_empty(), "{} is empty", path.display());
    Ok(text.trim().into())
}
