//! Rules on the documents about security: docs/asvs.md and docs/operations/logs.md.

use std::collections::BTreeSet;

use crate::files::{Files, is_rust};

const ASVS: &str = "docs/asvs.md";
/// The numbers of the standard, in its order.
const ITEMS: &str = "tests/structure/asvs-5.0.0.txt";
/// What the answer of a row without a test begins with.
const ANSWERS: [&str; 6] = ["Not applicable", "Documented", "By design", "Provider", "Operator", "Not met"];
const NO_TEST: &str = "none";
const LOGS: &str = "docs/operations/logs.md";

/// Returns the items of the standard that the table does not contain exactly once, and the rows with an empty cell,
/// with a test that does not exist, or without a test and an answer that says why.
pub fn wrong_asvs_rows(files: &Files) -> Vec<String> {
    let lines = files.get(ITEMS).map_or("", String::as_str).lines();
    let items: Vec<&str> =
        lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect();
    let (mut violations, mut listed) = (Vec::new(), Vec::new());
    for row in table(files, ASVS, "| Items |") {
        let [cell, answer, tests] = row[..] else {
            violations.push(format!("{ASVS}: {}: a row has three cells", row.join(" ")));
            continue;
        };
        if cell.starts_with("**") {
            continue;
        }
        let mut wrong = |what: &str| violations.push(format!("{ASVS}: {cell}: {what}"));
        match expand(cell, &items) {
            Some(numbers) => listed.extend(numbers),
            None => wrong("not a list of items, such as `1.2.3, 1.2.5 to 1.3.1`"),
        }
        let is_reasoned = ANSWERS.iter().any(|begin| {
            answer.strip_prefix(begin).is_some_and(|reason| reason.starts_with(": ") && reason.len() > 2)
        });
        let named: Vec<_> = code(tests).collect();
        match (tests == NO_TEST, is_reasoned) {
            (true, false) => wrong("an answer without a test begins with a word of the list above"),
            (false, true) => wrong("an answer with a test needs no such word"),
            _ if answer.is_empty() || (tests != NO_TEST && named.is_empty()) => wrong("an empty cell"),
            _ => {}
        }
        for test in named {
            let is_there = test.split_once("::").is_some_and(|(file, name)| {
                files.get(file).is_some_and(|text| text.contains(&format!("fn {name}(")))
            });
            if !is_there {
                wrong(&format!("there is no `{test}`"));
            }
        }
    }
    let wrong_count = items.iter().map(|item| (item, listed.iter().filter(|listed| *listed == item).count()));
    let wrong_count = wrong_count.filter(|(_, count)| *count != 1);
    violations.extend(wrong_count.map(|(item, count)| format!("{ASVS}: {item}: listed {count} times")));
    violations
}

/// Returns the items that a cell names, or `None` if the standard lacks one.
fn expand<'a>(cell: &str, items: &[&'a str]) -> Option<Vec<&'a str>> {
    let position = |number: &str| items.iter().position(|item| *item == number);
    let mut numbers = Vec::new();
    for part in cell.split(", ") {
        let (first, last) = part.split_once(" to ").unwrap_or((part, part));
        numbers.extend(items.get(position(first)?..=position(last)?)?);
    }
    Some(numbers)
}

/// Returns the events that the code writes to the security log and the page does not name, and those that it names and
/// no code writes.
pub fn undocumented_security_events(files: &Files) -> Vec<String> {
    let is_code = |path: &str| is_rust(path) && path.contains("/src/");
    let code_of = files.iter().filter(|(path, _)| is_code(path));
    let calls = code_of.flat_map(|(_, text)| text.split("security_event!(").skip(1));
    let names = calls.filter_map(|call| call.trim_start().strip_prefix('"')?.split('"').next());
    let written: BTreeSet<&str> = names.collect();
    let rows = table(files, LOGS, "| Event |");
    let documented: BTreeSet<&str> =
        rows.iter().filter_map(|row| row.first()).flat_map(|cell| code(cell)).collect();
    let missing =
        written.difference(&documented).map(|name| format!("{LOGS}: `{name}` is missing: describe it"));
    missing
        .chain(documented.difference(&written).map(|name| format!("{LOGS}: no code writes `{name}`")))
        .collect()
}

/// Returns the cells of the rows of the table whose head begins with a text.
fn table<'a>(files: &'a Files, page: &str, head: &str) -> Vec<Vec<&'a str>> {
    let lines = files.get(page).map_or("", String::as_str).lines();
    let rows = lines.skip_while(|line| !line.starts_with(head)).take_while(|line| line.starts_with('|'));
    rows.skip(2).map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Returns the texts in backticks.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}
