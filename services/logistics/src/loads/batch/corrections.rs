//! Texts that replace cells of a batch (docs/api/batches.md, "Corrections").

use std::collections::{BTreeSet, HashMap, HashSet};

use common::validation::{Code, ValidationErrors};
use serde_json::{Value, json};
use tables::Cell;

use super::header::HeaderRow;
use super::headings::named_column;
use crate::loads::members::COLUMNS;

/// The most corrections of a batch.
pub(crate) const MAX_CORRECTIONS: usize = 1_000;

/// The corrections of a batch.
#[derive(Debug, Default)]
pub(crate) struct Corrections {
    by_row: HashMap<usize, Vec<(&'static str, String)>>,
    columns: BTreeSet<&'static str>,
    /// The row of each correction, in the order of the form.
    rows: Vec<Option<usize>>,
}

impl Corrections {
    /// Parses the field of the form, an array as JSON. An empty text is no correction.
    pub(crate) fn parse(text: &str, errors: &mut ValidationErrors) -> Self {
        let mut corrections = Self::default();
        if text.trim().is_empty() {
            return corrections;
        }
        let entries = match serde_json::from_str(text) {
            Ok(Value::Array(entries)) if entries.len() <= MAX_CORRECTIONS => entries,
            Ok(Value::Array(_)) => {
                let message = format!("must have at most {MAX_CORRECTIONS} entries");
                errors.push_with("corrections", Code::Length, message, json!({ "maximum": MAX_CORRECTIONS }));
                return corrections;
            }
            Ok(_) => {
                errors.push_with("corrections", Code::Type, "must be an array", json!({ "type": "array" }));
                return corrections;
            }
            Err(_) => {
                errors.push("corrections", Code::Format, "must be an array as JSON");
                return corrections;
            }
        };
        let mut seen = HashSet::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let path = format!("corrections[{index}]");
            let (row, cell) = parse_entry(entry, &path, errors);
            corrections.rows.push(row);
            let (Some(row), Some((column, value))) = (row, cell) else { continue };
            if !seen.insert((row, column)) {
                errors.push(path, Code::Inconsistent, "names a cell that an earlier correction names");
                continue;
            }
            corrections.columns.insert(column);
            corrections.by_row.entry(row).or_default().push((column, value));
        }
        corrections
    }

    /// Returns the columns that corrections name, in the order of exports.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().copied()
    }

    /// Replaces the cells of a row. Returns true if there was a correction.
    pub(crate) fn apply(&self, header: &HeaderRow, row: usize, cells: &mut Vec<Cell>) -> bool {
        let Some(corrections) = self.by_row.get(&row) else { return false };
        for (column, value) in corrections {
            let Some(position) = header.position(column) else { continue };
            while cells.len() <= position {
                cells.push(Cell::Text(String::new()));
            }
            cells[position] = Cell::Text(value.clone());
        }
        true
    }

    /// Adds an error for each correction of a row that the files do not have.
    pub(crate) fn check_rows(&self, rows: usize, errors: &mut ValidationErrors) {
        for (index, row) in self.rows.iter().enumerate() {
            if row.is_some_and(|row| row >= rows) {
                let path = format!("corrections[{index}].row");
                let message = format!("is no row of the files, which have {rows}");
                let data = json!({ "minimum": 0, "maximum": rows.saturating_sub(1) });
                errors.push_with(path, Code::Range, message, data);
            }
        }
    }
}

/// Parses a correction: the number of its row, its column, and the text.
fn parse_entry(
    entry: Value,
    path: &str,
    errors: &mut ValidationErrors,
) -> (Option<usize>, Option<(&'static str, String)>) {
    let Value::Object(mut members) = entry else {
        errors.push_with(path, Code::Type, "must be an object", json!({ "type": "object" }));
        return (None, None);
    };
    let mut member = |name: &str, kind: &str, errors: &mut ValidationErrors| {
        let value = members.remove(name);
        let path = format!("{path}.{name}");
        if value.is_none() {
            errors.push(path.as_str(), Code::Required, "is required");
        }
        let is_kind = |value: &Value| {
            if kind == "string" {
                value.is_string()
            } else {
                value.as_f64().is_some_and(|n| n.fract() == 0.0)
            }
        };
        value.filter(|value| {
            if !is_kind(value) {
                let article = if kind == "string" { "a" } else { "an" };
                errors.push_with(
                    path,
                    Code::Type,
                    format!("must be {article} {kind}"),
                    json!({ "type": kind }),
                );
            }
            is_kind(value)
        })
    };
    let row = member("row", "integer", errors);
    let column = member("column", "string", errors);
    let value = member("value", "string", errors);
    let row = row.and_then(|row| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "too large ones saturate"
        )]
        let whole = || row.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64);
        let number = row.as_u64().or_else(whole);
        if number.is_none() {
            errors.push_with(
                format!("{path}.row"),
                Code::Range,
                "must be at least 0",
                json!({ "minimum": 0 }),
            );
        }
        number.map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    });
    let column = column.and_then(|column| {
        let known = named_column(column.as_str().unwrap_or_default());
        if known.is_none() {
            let message = format!("is not a known column: the columns are {}", COLUMNS.join(", "));
            errors.push_with(format!("{path}.column"), Code::Enum, message, json!({ "allowed": *COLUMNS }));
        }
        known
    });
    let value = value.and_then(|value| value.as_str().map(str::to_owned));
    (row, column.zip(value))
}
