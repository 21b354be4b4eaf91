//! Where the programs of PostgreSQL are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::servers::debian::Package;
use crate::servers::programs::folders_on_path;

/// Debian's packages start a server of their own unless this says otherwise.
const CLUSTER_CONF: &str = "/etc/postgresql-common/createcluster.conf";

/// What brings the programs.
pub const PACKAGE: Package = Package {
    name: "postgresql",
    by_hand: "PostgreSQL 14 or newer (the programs initdb and postgres): `sudo apt-get install postgresql`, \
              `sudo dnf install postgresql-server` or `brew install postgresql@17`, or put its bin folder on PATH",
    prepare: no_system_cluster,
};

/// Tests bring their own cluster; the package need not start another.
fn no_system_cluster() -> Result<()> {
    let path = Path::new(CLUSTER_CONF);
    if path.exists() {
        return Ok(());
    }
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        fs::write(path, "create_main_cluster = false\n")
    };
    write().with_context(|| format!("cannot write {CLUSTER_CONF}: install PostgreSQL by hand"))
}

/// The folder that holds `initdb` and `postgres`.
pub fn find() -> Option<PathBuf> {
    let mut candidates = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        candidates.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    candidates.extend(debian(Path::new("/usr/lib/postgresql")));
    candidates.extend(folders_on_path());
    candidates.into_iter().find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

/// The bin folders of `/usr/lib/postgresql/<major>/bin`, newest first.
fn debian(base: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<u32> = fs::read_dir(base)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    versions.iter().map(|version| base.join(version.to_string()).join("bin")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_comes_first() {
        let base = tempfile::tempdir().unwrap();
        for version in ["9", "15", "17", "common"] {
            fs::create_dir(base.path().join(version)).unwrap();
        }
        let found = debian(base.path());
        assert_eq!(found, ["17", "15", "9"].map(|version| base.path().join(version).join("bin")));
        assert!(debian(Path::new("/no/such/folder")).is_empty());
    }
}
