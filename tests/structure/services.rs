//! Rules on the files of services.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::{Files, is_rust, wrong_lines};

/// Files and folders that each service has.
const FILES: [&str; 5] = ["Cargo.toml", "src/config.rs", "src/lib.rs", "src/main.rs", "tests/it/main.rs"];
/// Those of services with a database and an API.
const API_FILES: [&str; 4] = ["migrations/postgres/", "migrations/sqlite/", "openapi.json", "src/schema.rs"];
/// The service without a database and an API.
const SITE: &str = "console";
/// Ends of the names of settings that contain secrets.
const SECRETS: [&str; 5] = ["_key", "secret", "secrets", "password", "token"];
/// Versions that migrations of two services have since 1.0: a migration that has landed is never renamed.
const LANDED_VERSIONS: [&str; 2] = ["20261122000100", "20261123160000"];
/// The name of an account, which ends like a secret.
const ACCOUNT: &str = "store_access_key";

/// Returns the files and folders that a service needs and does not have.
pub fn missing_files(files: &Files) -> Vec<String> {
    let service = |path: &String| Some(path.strip_prefix("services/")?.split_once('/')?.0.to_owned());
    let services: BTreeSet<String> = files.keys().filter_map(service).collect();
    if services.is_empty() {
        return vec!["services/: there are no services: tell tests/structure where they are".to_owned()];
    }
    let needed = services.iter().flat_map(|service| {
        let of_api = API_FILES.iter().filter(move |_| service != SITE);
        FILES.iter().chain(of_api).map(move |file| format!("services/{service}/{file}"))
    });
    let missing = needed.filter(|needed| !files.keys().any(|path| path.starts_with(needed)));
    missing.map(|path| format!("{path}: missing: add it as in the other services")).collect()
}

/// Returns the settings that are secrets by their names and not by their types.
pub fn bare_secrets(files: &Files) -> Vec<String> {
    let is_config = |path: &str| path.ends_with("/config.rs") || path.contains("/src/config/");
    let is_bare = |line: &str| {
        let field = line.trim_start().strip_prefix("pub").and_then(|field| field.split_once(": "));
        field.is_some_and(|(name, kind)| {
            let is_secret = SECRETS.iter().any(|end| name.ends_with(end)) && !name.ends_with(ACCOUNT);
            is_secret && !kind.contains("SecretString")
        })
    };
    wrong_lines(files, is_config, is_bare, "a setting that is a secret: make it a SecretString")
}

/// Returns the lines of services that name Diesel outside `store`, `schema` and `model`.
pub fn diesel(files: &Files) -> Vec<String> {
    let may_use_diesel = |path: &str| {
        let files = ["/store.rs", "/schema.rs", "/model.rs"];
        path.contains("/store/") || files.iter().any(|file| path.ends_with(file))
    };
    let is_checked = |path: &str| {
        path.starts_with("services/") && path.contains("/src/") && is_rust(path) && !may_use_diesel(path)
    };
    let names_diesel = |line: &str| {
        let mut words = line.split(|letter: char| letter != '_' && !letter.is_alphanumeric());
        words.any(|word| word == "diesel") && !line.trim_start().starts_with("//")
    };
    wrong_lines(files, is_checked, names_diesel, "Diesel outside a store: move the query to store.rs")
}

/// Returns the migrations that have the version of a migration of another service or crate. A database that has one of
/// them would appear to have the other.
pub fn duplicate_versions(files: &Files) -> Vec<String> {
    let mut owners: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for path in files.keys().filter(|path| !path.contains("/tests/")) {
        let Some((owner, rest)) = path.split_once("/migrations/") else { continue };
        let Some(name) = rest.split('/').nth(1) else { continue };
        let version = name.split('_').next().unwrap_or(name);
        owners.entry(version).or_default().insert(owner, name);
    }
    let duplicates =
        owners.into_iter().filter(|(version, of)| of.len() > 1 && !LANDED_VERSIONS.contains(version));
    duplicates.map(|(version, of)| format!("{version}: the version of several migrations: {of:?}")).collect()
}
