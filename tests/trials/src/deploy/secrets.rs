//! The secrets that `deploy/secrets.sh` creates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::compose::Compose;
use crate::command::output;
use stack::checkout;
use stack::trial::Trial;

/// The private key for tokens. Only deploy/token.sh uses it; no container has it.
const TOKEN_KEY: &str = "demo-key.pem";

/// Runs `deploy/secrets.sh` twice in a new folder. The second run changes nothing, and the Compose files use what the
/// first one creates.
pub fn check(trial: &Trial<'_>, compose: &Compose) -> Result<()> {
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
    Ok(())
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
