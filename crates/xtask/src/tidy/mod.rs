//! `tidy`: the rules of the house that no compiler checks. Each rule is a function over plain values.

mod dependencies;
mod modules;
mod safety;
mod shape;
mod text;

use std::fmt;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A broken rule: where, what, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path from the root of the repository.
    pub path: String,
    /// What is wrong.
    pub wrong: String,
    /// How to mend it.
    pub mend: String,
}

impl Violation {
    fn new(path: &str, wrong: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { path: path.to_owned(), wrong: wrong.into(), mend: mend.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.path, self.wrong, self.mend)
    }
}

/// Checks every file that git tracks or would track.
pub fn run() -> Result<()> {
    let files = files()?;
    let mut violations = dependencies::check(&dependencies::read(&workspace::metadata()?));
    violations.extend(shape::check(&files));
    violations.extend(modules::check(&files, &|path| fs::read_to_string(workspace::root().join(path)).ok()));
    let mut sizes = Vec::new();
    for path in &files {
        let Ok(content) = fs::read_to_string(workspace::root().join(path)) else { continue };
        violations.extend(safety::check(path, &content));
        if text::is_checked(path) {
            violations.extend(text::check(path, &content));
            sizes.extend(text::size(path, &content));
        }
    }
    println!(
        "{} Rust files, median {} lines, at most {}",
        sizes.len(),
        text::median(&mut sizes),
        text::LINES_MAX
    );
    if violations.is_empty() {
        println!("tidy");
        return Ok(());
    }
    violations.sort_by(|a, b| a.path.cmp(&b.path));
    for violation in &violations {
        println!("{violation}");
    }
    bail!("{} rules are broken: mend what the lines above name", violations.len());
}

/// Tracked and new files, without ignored and deleted ones.
fn files() -> Result<Vec<String>> {
    let root = workspace::root();
    let output = Command::new("git")
        .current_dir(&root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("cannot run git: install it")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`git ls-files` failed, run this in a clone of the repository: {}", said.trim());
    }
    let mut files: Vec<String> = output
        .stdout
        .split(|byte| *byte == 0)
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    files.retain(|path| root.join(path).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}
