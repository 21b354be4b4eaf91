//! Every service has the same shape, so that who knows one knows all.

use super::Violation;
use crate::workspace::SERVICES;

const FILES: [&str; 7] = [
    "Cargo.toml",
    "src/main.rs",
    "src/lib.rs",
    "src/config.rs",
    "src/schema.rs",
    "openapi.json",
    "tests/it/main.rs",
];

/// What is missing in the services, given the paths of all files.
pub fn check(files: &[String]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for service in SERVICES {
        for file in FILES {
            let path = format!("services/{service}/{file}");
            if !files.contains(&path) {
                violations.push(Violation::new(&path, "missing", mend(file)));
            }
        }
        for backend in ["postgres", "sqlite"] {
            let folder = format!("services/{service}/migrations/{backend}");
            let prefix = format!("{folder}/");
            if !files.iter().any(|path| path.starts_with(&prefix) && path.ends_with("/up.sql")) {
                violations.push(Violation::new(
                    &folder,
                    "no migration",
                    "add <time>_<verb_noun>/up.sql and down.sql",
                ));
            }
        }
    }
    violations
}

fn mend(file: &str) -> &'static str {
    match file {
        "openapi.json" => "run `cargo xtask openapi`",
        _ => "every service has it, see ARCHITECTURE.md; add it as in the other services",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> Vec<String> {
        let mut files = Vec::new();
        for service in SERVICES {
            files.extend(FILES.map(|file| format!("services/{service}/{file}")));
            for backend in ["postgres", "sqlite"] {
                files.push(format!("services/{service}/migrations/{backend}/2026-01-01_create_x/up.sql"));
            }
        }
        files
    }

    #[test]
    fn a_complete_service_passes() {
        assert_eq!(check(&complete()), []);
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut files = complete();
        files.retain(|path| {
            !path.contains("logistics/migrations/sqlite") && !path.ends_with("system/openapi.json")
        });
        let lines: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        let expected = [
            "services/system/openapi.json: missing: run `cargo xtask openapi`",
            "services/logistics/migrations/sqlite: no migration: add <time>_<verb_noun>/up.sql and down.sql",
        ];
        assert_eq!(lines, expected);
    }
}
