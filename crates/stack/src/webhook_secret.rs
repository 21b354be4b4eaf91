//! The secret that signs the webhooks of `up --webhook`, in the data folder.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::keys::temporary;

/// The secret, relative to the data folder.
pub const SECRET_FILE: &str = "auth/webhook-secret";

/// Reads the secret of a data folder, or creates one.
pub fn load_or_create(data: &Path) -> Result<String> {
    let path = data.join(SECRET_FILE);
    match fs::read_to_string(&path) {
        Ok(text) => return Ok(text.trim().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow!("the operating system returned no random bytes: {error}"))?;
    let secret = format!("whsec_{}", STANDARD.encode(bytes));
    let file = temporary(&path, format!("{secret}\n").as_bytes())?; // mode 0600
    file.persist(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_keeps_its_secret() {
        let folder = tempfile::tempdir().unwrap();
        let secret = load_or_create(folder.path()).unwrap();
        assert_eq!(secret.len(), "whsec_".len() + 44);
        assert_eq!(load_or_create(folder.path()).unwrap(), secret);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(load_or_create(other.path()).unwrap(), secret);
    }
}
