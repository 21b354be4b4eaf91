//! nginx as Debian sets it up, over one folder: what a download cannot be much faster than.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::limits::Server;
use crate::servers::{Package, on_path};

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

/// Keeps packages from starting servers while it lives.
pub struct NoServers(bool);

impl NoServers {
    /// Unless the machine has a policy of its own.
    pub fn for_now() -> Result<Self> {
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

/// Serves a folder from a folder of its own.
pub fn start(program: &Path, own: &Path, served: &Path, port: u16) -> Result<Server> {
    fs::create_dir_all(own).with_context(|| format!("cannot make {}", own.display()))?;
    let (config, root) = (own.join("nginx.conf"), served.display());
    // The workers must be able to read what the service wrote.
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {};", own.join(name).display()));
    let text = format!(
        "daemon off; worker_processes auto; pid {own}/pid; error_log {own}/error.log; {user}\n\
         events {{ worker_connections 768; }}\n\
         http {{ sendfile on; tcp_nopush on; access_log {own}/access.log; default_type application/octet-stream;\n\
         {}\nserver {{ listen 127.0.0.1:{port}; root {root}; }} }}\n",
        temporary.join(" "),
        own = own.display(),
    );
    fs::write(&config, text).with_context(|| format!("cannot write {}", config.display()))?;
    Server::start(Command::new(program).arg("-e").arg(own.join("error.log")).arg("-c").arg(&config), port)
}
