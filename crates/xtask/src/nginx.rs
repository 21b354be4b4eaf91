//! nginx: found here, or installed without starting a server of the system's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::servers::{self, Package, on_path};
use crate::stop::Stop;

/// What brings it.
pub const PACKAGE: Package = Package {
    name: "nginx-light",
    by_hand: "nginx: `sudo apt-get install nginx-light` or `brew install nginx`, or put it on PATH",
    prepare: || Ok(()),
};

/// Debian's packages start no server while there is this file and it says so.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// The program.
pub fn find() -> Option<PathBuf> {
    on_path("nginx").or_else(|| Some(PathBuf::from("/usr/sbin/nginx")).filter(|path| path.is_file()))
}

/// It runs as whoever runs this: folders of a trial are nobody else's.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        command.args(["-g", "user root;"]);
    }
    command
}

/// The program; installed if it is missing and that needs no question.
pub fn provide(stop: &Stop) -> Result<PathBuf> {
    if let Some(program) = find() {
        return Ok(program);
    }
    let _none = NoServers::for_now()?;
    servers::install(&[PACKAGE], stop)?;
    find().context("apt-get installed nginx, but it is nowhere to be found: put it on PATH")
}

/// Keeps packages from starting servers while it lives.
struct NoServers(bool);

impl NoServers {
    /// Unless the machine has a policy of its own.
    fn for_now() -> Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        if Path::new(POLICY).exists() || !rustix::process::geteuid().is_root() {
            return Ok(Self(false));
        }
        fs::write(POLICY, "#!/bin/sh\nexit 101\n")
            .and_then(|()| fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755)))
            .with_context(|| format!("cannot write {POLICY}: install {}", PACKAGE.by_hand))?;
        Ok(Self(true))
    }
}

impl Drop for NoServers {
    fn drop(&mut self) {
        if self.0 {
            let _ = fs::remove_file(POLICY);
        }
    }
}
