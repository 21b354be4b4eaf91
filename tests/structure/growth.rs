//! The rule that docs/operations/growth.md states what limits each table.

use std::collections::BTreeSet;

use crate::files::Files;

const PAGE: &str = "docs/operations/growth.md";
/// Tables that requests do not fill.
const INTERNAL: [&str; 1] = ["__diesel_schema_migrations"];

/// Returns the tables of the migrations that the page does not name, and those that it names and no migration creates.
pub fn undocumented_tables(files: &Files) -> Vec<String> {
    let tables = tables(files);
    let documented = documented(files.get(PAGE).map_or("", String::as_str));
    let missing = tables.difference(&documented).filter(|table| !INTERNAL.contains(&table.as_str()));
    let missing = missing.map(|table| format!("{PAGE}: `{table}` is missing: state what limits it"));
    let unknown = documented.difference(&tables);
    missing.chain(unknown.map(|table| format!("{PAGE}: no migration creates `{table}`"))).collect()
}

/// Returns the tables that exist after all migrations. A table that a migration creates in order to rename it counts
/// under its last name.
fn tables(files: &Files) -> BTreeSet<String> {
    let mut tables = BTreeSet::new();
    let is_migration =
        |path: &str| path.contains("/migrations/") && !path.contains("/tests/") && path.ends_with("/up.sql");
    for (_, sql) in files.iter().filter(|(path, _)| is_migration(path)) {
        for line in sql.lines().filter(|line| !line.trim_start().starts_with("--")) {
            let words = line.split(|letter: char| letter != '_' && !letter.is_alphanumeric());
            let ignored = ["", "IF", "NOT", "EXISTS", "VIRTUAL"];
            let words: Vec<_> = words.filter(|word| !ignored.contains(word)).collect();
            match words[..] {
                ["CREATE", "TABLE", name, ..] => tables.insert(name.to_owned()),
                ["DROP", "TABLE", name, ..] => tables.remove(name),
                ["ALTER", "TABLE", old, "RENAME", "TO", new, ..] => {
                    tables.remove(old) && tables.insert(new.to_owned())
                }
                _ => false,
            };
        }
    }
    tables
}

/// Returns the names in backticks in the first column of the page's table of tables.
fn documented(page: &str) -> BTreeSet<String> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| Table |"));
    let rows = rows.take_while(|line| line.starts_with('|'));
    let first = rows.filter_map(|row| row.split('|').nth(1));
    first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}
