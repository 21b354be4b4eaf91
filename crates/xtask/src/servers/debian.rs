//! Installs packages where that needs no question: on Debian and its like, as root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

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

/// Fetches a package and unpacks it into a folder of ours, which then has this file: nothing is installed or started.
pub fn unpack(package: Package, proof: &str, tools: &Path, stop: &Stop) -> Result<PathBuf> {
    let folder = tools.join(format!("debian-{}", package.name));
    let program = folder.join(proof);
    if program.is_file() {
        return Ok(program);
    }
    eprintln!("missing: fetching {} with apt-get (once)", package.name);
    let fresh = tempfile::tempdir_in(tools).context("the folder of tools cannot be written to")?;
    let run = |command: &mut Command| {
        command.current_dir(fresh.path()).stdout(std::io::stderr());
        process::run(command, stop).is_ok_and(|status| status.success())
    };
    let fetch = || run(Command::new("apt-get").args(["-q", "download", package.name]));
    // What a machine knows of packages may be old, or nothing.
    let fetched = fetch() || (run(Command::new("apt-get").args(["-q", "update"])) && fetch());
    let file = fs::read_dir(fresh.path())?.find_map(|entry| Some(entry.ok()?.path()));
    let unpacked = |file| run(Command::new("dpkg").arg("-x").arg(file).arg("root"));
    if !fetched || !file.is_some_and(unpacked) || !fresh.path().join("root").join(proof).is_file() {
        stop.check()?;
        bail!("{} could not be fetched; install\n{}", package.name, by_hand(&[package]));
    }
    // Whole or not at all; somebody else may have been first.
    let _ = fs::rename(fresh.path().join("root"), &folder);
    ensure!(program.is_file(), "{} cannot be made: make it writable", folder.display());
    Ok(program)
}

fn by_hand(packages: &[Package]) -> String {
    let lines: Vec<String> = packages.iter().map(|package| format!("- {}", package.by_hand)).collect();
    lines.join("\n")
}
