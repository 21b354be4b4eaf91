//! Installs packages where that needs no question: on Debian and its like, as root.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process;
use crate::stop::Stop;

/// A package that brings a program.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    /// Its name for apt-get.
    pub name: &'static str,
    /// What is needed and how a person installs it, after the word "install".
    pub by_hand: &'static str,
    /// What has to be so before it is installed.
    pub prepare: fn() -> Result<()>,
}

/// Installs these packages, or fails saying what a person is to do.
pub fn install(packages: &[Package], stop: &Stop) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/bin/apt-get").exists() {
        bail!("programs are missing here; install\n{}", by_hand(packages));
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name).collect();
    eprintln!("missing: installing {} with apt-get (once)", names.join(", "));
    for package in packages {
        (package.prepare)()?;
    }
    let install = ["-o", "Dpkg::Options::=--force-confold", "install", "-y", "--no-install-recommends"];
    for args in [vec!["update"], [&install[..], &names].concat()] {
        let mut command = Command::new("apt-get");
        command.arg("-q").args(&args).env("DEBIAN_FRONTEND", "noninteractive");
        command.stdout(std::io::stderr()); // ours may be read by a program
        if !process::run(&mut command, stop)?.success() {
            bail!(
                "`apt-get {}` failed: mend what it says, or install\n{}",
                args.join(" "),
                by_hand(packages)
            );
        }
    }
    Ok(())
}

fn by_hand(packages: &[Package]) -> String {
    let lines: Vec<String> = packages.iter().map(|package| format!("- {}", package.by_hand)).collect();
    lines.join("\n")
}
