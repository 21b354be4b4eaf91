//! The secrets that `deploy/secrets.sh` creates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::compose::Compose;
use crate::command::output;
use stack::checkout;
use stack::trial::Trial;

/// The private key for tokens. Only deploy/token.sh uses it; no container has it.
const TOKEN_KEY: &str = "demo-key.pem";

/// A folder of secrets.
#[derive(Debug)]
pub struct Secrets(PathBuf);

impl Secrets {
    /// Runs `deploy/secrets.sh` twice in a new folder.
    pub fn create(trial: &Trial<'_>, compose: &Compose) -> Result<Self> {
        let folder = trial.path("secrets");
        let run = || output(Command::new(checkout::root().join("deploy/secrets.sh")).arg(&folder));
        run()?;
        let first = contents(&folder)?;
        run()?;
        ensure!(first == contents(&folder)?, "deploy/secrets.sh changes existing secrets when it runs again");

        let created: BTreeSet<_> = first.into_keys().filter(|name| name != TOKEN_KEY).collect();
        let files = compose.secrets().into_iter().filter_map(|name| compose.secret_file(name)?.file_name());
        let used: BTreeSet<_> = files.map(|name| name.to_string_lossy().into_owned()).collect();
        let different: Vec<_> = created.symmetric_difference(&used).cloned().collect();
        ensure!(
            different.is_empty(),
            "deploy/secrets.sh creates {created:?}, docker-compose.yml uses {used:?}: they differ in {different:?}"
        );
        trial.note(
            "deploy/secrets.sh",
            format!("{} secrets, unchanged by a second run", used.len()),
            "those of docker-compose.yml, unchanged",
        );
        Ok(Self(folder))
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Reads a secret.
    pub fn read(&self, name: &str) -> Result<String> {
        let path = self.0.join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(text.trim().to_owned())
    }

    /// Replaces a part of a secret, such as the name of a host.
    pub fn replace(&self, name: &str, from: &str, to: &str) -> Result<()> {
        let (path, text) = (self.0.join(name), self.read(name)?);
        ensure!(text.contains(from), "the secret {name} does not contain {from}");
        fs::remove_file(&path)?; // the script makes it read-only
        fs::write(&path, text.replace(from, to)).with_context(|| format!("cannot write {}", path.display()))
    }
}

fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let files = entries.map(|entry| {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, fs::read(&path)?))
    });
    files.collect()
}
