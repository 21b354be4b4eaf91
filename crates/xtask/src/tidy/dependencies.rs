//! Who may depend on whom: services on crates, never on each other; crates in one direction.

use serde_json::Value;

use super::Violation;

/// One of our crates and those of ours that its manifest names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Path of its manifest from the root.
    pub manifest: String,
    /// What it uses.
    pub uses: Vec<String>,
    /// What only its tests use.
    pub dev_uses: Vec<String>,
}

/// Reads our crates out of `cargo metadata --no-deps`.
pub fn read(metadata: &Value) -> Vec<Package> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    packages.iter().map(|package| read_package(package, root)).collect()
}

fn read_package(package: &Value, root: &str) -> Package {
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    let mut read = Package {
        name: package["name"].as_str().unwrap_or_default().to_owned(),
        manifest: manifest.strip_prefix(root).unwrap_or(manifest).trim_start_matches('/').to_owned(),
        ..Package::default()
    };
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    for dependency in dependencies.iter().filter(|dependency| dependency["path"].is_string()) {
        let list = if dependency["kind"] == "dev" { &mut read.dev_uses } else { &mut read.uses };
        list.push(dependency["name"].as_str().unwrap_or_default().to_owned());
    }
    read
}

/// What a crate of ours may use of ours; `None`: anything.
fn allowed(package: &Package) -> Option<&'static [&'static str]> {
    if package.manifest.starts_with("services/") {
        return Some(match package.name.as_str() {
            "system" => &["common", "database", "gazetteer"],
            _ => &["common", "database"],
        });
    }
    match package.name.as_str() {
        "common" => Some(&["database"]),
        "database" | "gazetteer" | "limits" | "xtask" => Some(&[]),
        "testkit" => Some(&["common", "database", "gazetteer"]),
        _ => None,
    }
}

/// Every dependency that goes the wrong way.
pub fn check(packages: &[Package]) -> Vec<Violation> {
    let is_service = |name: &str| {
        packages.iter().any(|package| package.name == name && package.manifest.starts_with("services/"))
    };
    let mut violations = Vec::new();
    for package in packages.iter().filter(|package| !package.manifest.starts_with("tests/")) {
        let mut refuse = |name: &str, mend: &str| {
            violations.push(Violation::new(
                &package.manifest,
                format!("{} depends on {name}", package.name),
                mend,
            ));
        };
        let allowed = allowed(package);
        for name in &package.uses {
            if is_service(name) {
                refuse(name, "call the service over HTTP, or move what both need to crates/common");
            } else if allowed.is_some_and(|allowed| !allowed.contains(&name.as_str())) {
                refuse(name, "dependencies go services -> common -> database; see ARCHITECTURE.md");
            }
        }
        for name in &package.dev_uses {
            let tests_may =
                name == "testkit" || allowed.is_none_or(|allowed| allowed.contains(&name.as_str()));
            if is_service(name) || !tests_may {
                refuse(name, "a test that needs it belongs in tests/");
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(manifest: &str, uses: &[&str], dev_uses: &[&str]) -> Package {
        let name = manifest.split('/').nth(1).unwrap_or_default().to_owned();
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Package { name, manifest: manifest.to_owned(), uses: own(uses), dev_uses: own(dev_uses) }
    }

    fn refused(packages: &[Package]) -> Vec<String> {
        check(packages).into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn the_right_direction_passes() {
        let packages = [
            package("services/system/Cargo.toml", &["common", "database", "gazetteer"], &["testkit"]),
            package("services/logistics/Cargo.toml", &["common", "database"], &["testkit"]),
            package("crates/common/Cargo.toml", &["database"], &["testkit"]),
            package("crates/testkit/Cargo.toml", &["common", "database"], &[]),
            package("tests/Cargo.toml", &["logistics", "testkit"], &["system"]),
        ];
        assert_eq!(refused(&packages), Vec::<String>::new());
    }

    #[test]
    fn the_wrong_direction_is_named() {
        let packages = [
            package("services/system/Cargo.toml", &[], &["logistics"]),
            package("services/logistics/Cargo.toml", &["system", "gazetteer"], &[]),
            package("crates/common/Cargo.toml", &["logistics", "gazetteer"], &[]),
            package("crates/database/Cargo.toml", &["common"], &[]),
            package("crates/testkit/Cargo.toml", &["system"], &[]),
            package("crates/newcomer/Cargo.toml", &["common", "system"], &[]),
        ];
        let expected = [
            "system depends on logistics",
            "logistics depends on system",
            "logistics depends on gazetteer",
            "common depends on logistics",
            "common depends on gazetteer",
            "database depends on common",
            "testkit depends on system",
            "newcomer depends on system",
        ];
        assert_eq!(refused(&packages), expected);
    }

    #[test]
    fn only_our_own_crates_count() {
        let metadata = json!({"workspace_root": "/r", "packages": [{
            "name": "system", "manifest_path": "/r/services/system/Cargo.toml",
            "dependencies": [
                {"name": "common", "path": "/r/crates/common", "kind": null},
                {"name": "testkit", "path": "/r/crates/testkit", "kind": "dev"},
                {"name": "serde", "kind": null},
            ],
        }]});
        assert_eq!(read(&metadata), [package("services/system/Cargo.toml", &["common"], &["testkit"])]);
    }
}
