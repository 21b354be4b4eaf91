//! Rules of docs/operations/upgrade.md on the migrations of the services and their libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use testkit::{Backend, TestDatabase};

/// The services, each with the folders of the migrations of its tables.
pub(crate) const SERVICES: [(&str, &[&str]); 3] = [
    ("system", &["crates/common", "services/system"]),
    ("logistics", &["crates/common", "crates/webhooks", "services/logistics"]),
    ("livestock", &["crates/common", "crates/webhooks", "services/livestock"]),
];
/// Migrations from this version on follow these rules.
const FIRST_VERSION: &str = "20261126";

/// Returns the scripts `up.sql` in these folders by the names of their migrations, in the order of their versions.
pub(crate) fn scripts(folders: &[&str], database: &str) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut scripts = BTreeMap::new();
    for folder in folders {
        for entry in fs::read_dir(root.join(folder).join("migrations").join(database)).unwrap() {
            let entry = entry.unwrap();
            let script = fs::read_to_string(entry.path().join("up.sql")).unwrap();
            scripts.insert(entry.file_name().into_string().unwrap(), script);
        }
    }
    scripts
}

/// Returns the word after each occurrence of a text in a script without comments.
fn words_after<'a>(script: &'a str, text: &'a str) -> impl Iterator<Item = &'a str> {
    let rests = script.split(text).skip(1);
    rests.map(|rest| {
        rest.split(|c: char| c.is_whitespace() || c == '(').find(|word| !word.is_empty()).unwrap()
    })
}

/// Returns the violations of the rules by a script.
fn violations(script: &str) -> Vec<String> {
    let script = script.lines().map(|line| line.split("--").next().unwrap()).collect::<Vec<_>>().join(" ");
    let created: Vec<_> = words_after(&script, "CREATE TABLE ").collect();
    let statements = script.split(';').filter(|statement| statement.contains(" ADD COLUMN "));
    let altered: Vec<_> = statements.flat_map(|statement| words_after(statement, "ALTER TABLE ")).collect();
    let mut found = Vec::new();
    for index in script.split("CREATE INDEX ").skip(1).chain(script.split("CREATE UNIQUE INDEX ").skip(1)) {
        let table = words_after(index, " ON ").next().unwrap();
        if created.contains(&table) {
            continue;
        }
        if !index.starts_with("IF NOT EXISTS ") {
            found.push(format!("an index of {table} without IF NOT EXISTS"));
        }
        if altered.contains(&table) {
            found.push(format!("an index of {table}, which the same migration locks"));
        }
    }
    found
}

#[test]
fn violations_are_found() {
    let locked = "ALTER TABLE a\n ADD COLUMN b TEXT;\nCREATE INDEX IF NOT EXISTS i ON a (b)";
    assert_eq!(violations(locked), ["an index of a, which the same migration locks"]);
    let block = "DO $$ EXECUTE format('CREATE UNIQUE INDEX i ON a USING gin (b)') $$";
    assert_eq!(violations(block), ["an index of a without IF NOT EXISTS"]);
    let new = "CREATE TABLE a (b TEXT);\n-- CREATE INDEX i ON b (c)\nCREATE INDEX i ON a (b);ALTER TABLE c ADD COLUMN d";
    assert_eq!(violations(new), [""; 0]);
}

/// Adding a column locks out readers until the transaction ends.
#[test]
fn no_migration_builds_indexes_while_it_locks_out_readers() {
    for (_, folders) in SERVICES {
        for (name, script) in scripts(folders, "postgres").range(FIRST_VERSION.to_owned()..) {
            assert_eq!(violations(script), [""; 0], "{name}");
        }
    }
}

/// Operators create the indexes of large tables before the upgrade.
#[tokio::test]
async fn indexes_of_postgres_may_exist_before_the_migration() {
    for (service, folders) in SERVICES {
        let test = TestDatabase::empty(Backend::Postgres).await;
        test.execute(&format!("CREATE SCHEMA {service}"));
        for (name, script) in scripts(folders, "postgres") {
            let may_run_twice = name.as_str() >= FIRST_VERSION && name.contains("_index_");
            for _ in 0..=usize::from(may_run_twice) {
                test.execute(&format!("SET search_path TO {service}; {script}"));
            }
        }
    }
}
