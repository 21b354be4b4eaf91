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

/// The only modules with unsafe code.
const UNSAFE_MODULES: [&str; 2] =
    ["crates/database/src/sqlite/mapped_vfs.rs", "crates/common/src/service/allocator.rs"];

/// Returns the lines of other modules that allow unsafe code.
pub fn unsafe_code(files: &Files) -> Vec<String> {
    let is_checked = |path: &str| {
        is_rust(path) && !UNSAFE_MODULES.contains(&path) && !path.starts_with("tests/structure/")
    };
    let is_wrong = |line: &str| line.contains("unsafe_code");
    let wrong = format!("unsafe code is allowed in {} only", UNSAFE_MODULES.join(" and "));
    wrong_lines(files, is_checked, is_wrong, &wrong)
}

/// Returns the manifests outside `tests/` that name testkit in other sections than `[dev-dependencies]`.
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
    let wrong = manifests.filter(|(_, text)| text.split("\n[").any(is_wrong));
    wrong.map(|(path, _)| format!("{path}: testkit is for tests: move it to [dev-dependencies]")).collect()
}
