//! The files of this repository.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The text of each file by its path from the root of the repository.
pub type Files = BTreeMap<String, String>;

/// Reads all text files that git tracks or would track.
pub fn read() -> Files {
    // The folder at run time: it may have moved since this program was compiled.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&manifest).ancestors().nth(2).expect("this crate is two folders below the root");
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").current_dir(root).args(list).output().expect("git has to be installed");
    assert!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    let paths = String::from_utf8(output.stdout).expect("the names of all files have to be UTF-8");
    let read = |path: &str| Some((path.to_owned(), fs::read_to_string(root.join(path)).ok()?));
    paths.split_terminator('\0').filter_map(read).collect()
}

/// Returns a violation for each line that a rule finds wrong in the files that it checks.
pub fn wrong_lines(
    files: &Files,
    is_checked: impl Fn(&str) -> bool,
    is_wrong: impl Fn(&str) -> bool,
    wrong: &str,
) -> Vec<String> {
    let mut violations = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| is_checked(path)) {
        let lines = (1_usize..).zip(text.lines()).filter(|(_, line)| is_wrong(line));
        violations.extend(lines.map(|(number, _)| format!("{path}:{number}: {wrong}")));
    }
    violations
}

/// Whether a file contains Rust code.
pub fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}
