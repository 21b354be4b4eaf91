//! Finds the programs of PostgreSQL, or installs them where that needs no question (Debian, as root).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::stop::Stop;

/// Debian's packages start a server of their own unless this says otherwise.
const CLUSTER_CONF: &str = "/etc/postgresql-common/createcluster.conf";

/// The folder that holds `initdb` and `postgres`.
pub fn bin_dir(stop: &Stop) -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/bin/apt-get").exists() {
        bail!(
            "the tests need PostgreSQL 14 or newer (the programs initdb and postgres): install it with \
             `sudo apt-get install postgresql`, `sudo dnf install postgresql-server` or `brew install postgresql@17`, \
             or put its bin folder on PATH"
        );
    }
    eprintln!("PostgreSQL is missing: installing it with apt-get (once)");
    no_system_cluster()?;
    apt(&["update"], stop)?;
    apt(
        &["-o", "Dpkg::Options::=--force-confold", "install", "-y", "--no-install-recommends", "postgresql"],
        stop,
    )?;
    find().context(
        "apt-get installed postgresql, but initdb is not in /usr/lib/postgresql/*/bin: put it on PATH",
    )
}

fn apt(args: &[&str], stop: &Stop) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.arg("-q").args(args).env("DEBIAN_FRONTEND", "noninteractive");
    if process::run(&mut command, stop)?.success() {
        return Ok(());
    }
    bail!("`apt-get {}` failed: install PostgreSQL by hand, so that initdb is on PATH", args.join(" "));
}

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

fn find() -> Option<PathBuf> {
    let mut candidates = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        candidates.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    candidates.extend(debian(Path::new("/usr/lib/postgresql")));
    candidates.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
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
