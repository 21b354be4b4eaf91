//! Rules on the modules of a crate: no import circles between siblings, no service state below the handlers.

mod circles;
mod resolve;
mod scan;
mod state;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;
mod use_tree;
mod walk;

use super::Violation;
use crate::workspace::SERVICES;
use tree::ModuleTree;

/// Crates below `crates/` whose modules are checked. Services are checked too.
const CRATES: [&str; 4] = ["common", "database", "gazetteer", "testkit"];

/// Files that are the root of a module tree.
const ROOTS: [&str; 3] = ["src/lib.rs", "src/main.rs", "build/main.rs"];

/// Checks the modules of all checked crates. `files` lists the paths of the repository; `read` returns the text of one.
pub fn check(files: &[String], read: &dyn Fn(&str) -> Option<String>) -> Vec<Violation> {
    let read_listed = |path: &str| {
        let index = files.binary_search_by(|file| file.as_str().cmp(path)).ok()?;
        read(&files[index])
    };
    let mut violations = Vec::new();
    for folder in CRATES.map(|name| format!("crates/{name}")) {
        check_crate(&folder, None, &read_listed, &mut violations);
    }
    for service in SERVICES {
        check_crate(&format!("services/{service}"), Some(service), &read_listed, &mut violations);
    }
    violations
}

fn check_crate(
    folder: &str,
    service: Option<&str>,
    read: &dyn Fn(&str) -> Option<String>,
    violations: &mut Vec<Violation>,
) {
    for root in ROOTS.map(|file| format!("{folder}/{file}")) {
        let Some(text) = read(&root) else { continue };
        match ModuleTree::read(&root, &text, read) {
            Ok(tree) => {
                violations.extend(circles::check(&tree));
                violations.extend(service.map(|name| state::check(&tree, name)).unwrap_or_default());
            }
            Err(violation) => violations.push(violation),
        }
    }
}
