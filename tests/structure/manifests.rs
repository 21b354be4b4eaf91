//! Rules on the manifests of crates.

use crate::files::{Files, is_rust, wrong_lines};

/// Returns the manifests without the lints of the workspace, and the workspace's if it does not deny unsafe code.
pub fn lints(files: &Files) -> Vec<String> {
    let inherits = |(path, text): &(&String, &String)| match path.as_str() {
        "Cargo.toml" => text.contains("unsafe_code = \"deny\""),
        path => !path.ends_with("/Cargo.toml") || text.contains("[lints]\nworkspace = true"),
    };
    let wrong = "add [lints] with workspace = true; in the workspace, unsafe_code = \"deny\"";
    files.iter().filter(|file| !inherits(file)).map(|(path, _)| format!("{path}: {wrong}")).collect()
}

/// What stands before the version of the programs in the files of `deploy`.
const BEFORE_VERSION: [&str; 3] = ["DROVER_VERSION-", "newTag: ", "ARG VERSION="];

/// Returns the lines of `deploy` with another version than that of the workspace.
pub fn versions(files: &Files) -> Vec<String> {
    let manifest = files.get("Cargo.toml").map_or("", String::as_str);
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.split('"').next());
    let is_wrong = |line: &str| {
        let mut named = BEFORE_VERSION.iter().filter_map(|before| line.split_once(before));
        named.any(|(_, rest)| rest.split(['}', ',', ' ']).next() != version)
    };
    let wrong = format!("the version in Cargo.toml is {}", version.unwrap_or("missing"));
    wrong_lines(files, |path| path.starts_with("deploy/"), is_wrong, &wrong)
}

/// The manifest of the tool that uses testkit outside tests.
const XTASK: &str = "crates/xtask/Cargo.toml";
/// The only modules with unsafe code.
const UNSAFE_MODULES: [&str; 2] =
    ["crates/database/src/sqlite/vfs.rs", "crates/common/src/service/allocator.rs"];

/// Returns the lines of other modules that allow unsafe code.
pub fn unsafe_code(files: &Files) -> Vec<String> {
    let is_checked = |path: &str| {
        is_rust(path) && !UNSAFE_MODULES.contains(&path) && !path.starts_with("tests/structure/")
    };
    let is_wrong = |line: &str| line.contains("unsafe_code");
    let wrong = format!("unsafe code is allowed in {} only", UNSAFE_MODULES.join(" and "));
    wrong_lines(files, is_checked, is_wrong, &wrong)
}

/// Returns the manifests outside `tests/` that name testkit in other sections than `[dev-dependencies]`, and xtask's if
/// it has the feature `in_process`, with which a fresh clone would compile the services' crates first.
///
/// `deny.toml` lists the crates that may depend on testkit, but cargo-deny does not tell builds from tests.
pub fn testkit(files: &Files) -> Vec<String> {
    let is_wrong = |section: &str| {
        let (title, lines) = section.split_once(']').unwrap_or_default();
        let is_line = |line: &str| line.starts_with("testkit") || line.contains("package = \"testkit\"");
        let is_named = title.ends_with(".testkit") || lines.lines().any(is_line);
        is_named && title.contains("dependencies") && !title.contains("dev-dependencies")
    };
    let is_checked = |path: &str| path.ends_with("/Cargo.toml") && !path.starts_with("tests/");
    let manifests = files.iter().filter(|(path, _)| is_checked(path));
    let is_light = |path: &str, text: &str| path == XTASK && !text.contains("in_process");
    let wrong = manifests.filter(|(path, text)| !is_light(path, text) && text.split("\n[").any(is_wrong));
    wrong.map(|(path, _)| format!("{path}: testkit is for tests: move it to [dev-dependencies]")).collect()
}
