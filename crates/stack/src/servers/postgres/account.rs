//! The account that PostgreSQL runs as: it refuses root.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

/// User and group id of that account, or none if this program is not root.
#[derive(Debug, Clone, Copy)]
pub struct Account(Option<(u32, u32)>);

impl Account {
    /// Chooses this user, or for root the user `postgres` or `nobody`.
    pub fn choose() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self(None));
        }
        for name in ["postgres", "nobody"] {
            if let (Some(user), Some(group)) = (id("-u", name), id("-g", name)) {
                return Ok(Self(Some((user, group))));
            }
        }
        bail!(
            "PostgreSQL does not run as root and there is no user `postgres` or `nobody`: run this as another user"
        );
    }

    /// A command that runs as this account in a folder.
    pub fn command(self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder).stdin(Stdio::null());
        if let Some((user, group)) = self.0 {
            command.gid(group).uid(user); // leaving root also drops its other groups
        }
        command
    }

    /// Makes this account the owner of a path.
    pub fn own(self, path: &Path) -> Result<()> {
        let Some((user, group)) = self.0 else { return Ok(()) };
        chown(path, Some(user), Some(group))
            .with_context(|| format!("cannot change the owner of {}", path.display()))
    }

    /// Creates a folder of this account in a temporary folder that it can enter.
    pub fn folder(self) -> Result<TempDir> {
        let private = Permissions::from_mode(0o700);
        let mut tried = Vec::new();
        for base in [tempfile::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")] {
            if let Ok(folder) = tempfile::Builder::new()
                .prefix("drover-postgres-")
                .permissions(private.clone())
                .tempdir_in(&base)
            {
                self.own(folder.path())?;
                let write = self
                    .command(Path::new("/bin/sh"), folder.path())
                    .args(["-c", ": > try && rm try"])
                    .output();
                if write.is_ok_and(|output| output.status.success()) {
                    return Ok(folder);
                }
            }
            tried.push(base.display().to_string());
        }
        bail!(
            "no folder that PostgreSQL can write to (tried {}): set TMPDIR to one that everyone may enter",
            { tried.join(", ") }
        );
    }
}

fn id(kind: &str, name: &str) -> Option<u32> {
    let output =
        Command::new("id").args([kind, name]).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
