//! The header row: which column has which name.

use common::csv::{entries, unescape_formula};
use common::validation::{Code, ValidationErrors};
use database::Id;
use serde_json::{Map, Value, json};

use super::options::CellOptions;
use super::table::Cell;
use crate::loads::columns::COLUMNS;

/// Columns that are no part of the loads of a batch, which are new. Exports write all of them except `createdAtUTC`.
/// [`ID`] tells which loads exist already. The others are accepted and ignored.
const UNSTORED: [&str; 5] = [ID, "status", "files", "createdAtUTC", "completedAtUTC"];
const ID: &str = "id";
/// The reference of the sample row of the template. Rows with it are skipped. Whoever writes over it gets a normal row.
pub(crate) const SAMPLE_REFERENCE: &str = "EXAMPLE (this row is skipped)";
/// Of each group, at least one column is required.
const REQUIRED: [&[&str]; 4] =
    [&["reference"], &["deliveryDateISO"], &["commodityId", "commodityName"], &["organiserId", "carrierId"]];
/// Replaces an unknown column name, which is reported once.
const UNKNOWN: &str = "";
/// One more than a load may have. More tags would not change the response.
const MAX_TAGS_READ: usize = 51;
/// The number of characters of an unknown column name in the response.
const MAX_NAME_CHARS: usize = 100;

/// The columns of the loads of a batch, in the order of an export.
pub(crate) fn stored_columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.into_iter().filter(|name| !UNSTORED.contains(name))
}

/// The names of the columns. A column without a name is `None`.
pub(crate) struct HeaderRow(Vec<Option<&'static str>>);

/// A row by the names of its columns.
pub(crate) struct NamedCells {
    /// An object with the members of a [`BatchRow`](super::row::BatchRow).
    pub(crate) object: Value,
    /// The load that the column `id` names.
    pub(crate) id: Option<Id>,
    /// A cell is in a column without a name.
    pub(crate) has_unnamed: bool,
}

impl HeaderRow {
    /// Parses the header row. Returns `None` if a required column is missing, since every row would then be invalid.
    /// `has_organiser`: the form names an organiser, so that the columns of the parties are optional.
    pub(crate) fn parse(cells: &[Cell], has_organiser: bool, errors: &mut ValidationErrors) -> Option<Self> {
        let mut names = Vec::new();
        for cell in cells {
            let written = if let Cell::Text(text) | Cell::Number(text) = cell { text.trim() } else { "#" };
            let known = COLUMNS.iter().chain(&UNSTORED).find(|name| name.eq_ignore_ascii_case(written));
            if written.is_empty() {
                names.push(None);
            } else if let Some(&name) = known {
                if names.contains(&Some(name)) {
                    errors.push(written, Code::Inconsistent, "occurs twice");
                }
                names.push(Some(name));
            } else {
                let path: String = written.chars().take(MAX_NAME_CHARS).collect();
                let message = format!("is not a known column: the columns are {}", COLUMNS.join(", "));
                errors.push_with(path, Code::Enum, message, json!({ "allowed": COLUMNS }));
                names.push(Some(UNKNOWN));
            }
        }
        let is_missing = |group: &[&str]| !group.iter().any(|name| names.contains(&Some(name)));
        let mut is_complete = true;
        for group in REQUIRED.into_iter().filter(|group| is_missing(group)) {
            if group.contains(&"organiserId") && has_organiser {
                continue;
            }
            let message = format!("is required: a column {}", group.join(" or "));
            errors.push(group[0], Code::Required, message);
            is_complete = false;
        }
        is_complete.then_some(Self(names))
    }

    /// Returns true for the sample row of the template.
    pub(crate) fn is_sample(&self, cells: &[Cell]) -> bool {
        let is_marker = |cell: &Cell| matches!(cell, Cell::Text(text) if text.trim().eq_ignore_ascii_case(SAMPLE_REFERENCE));
        self.0.iter().zip(cells).any(|(name, cell)| *name == Some("reference") && is_marker(cell))
    }

    /// Reads the cells of a row by the names of their columns.
    pub(crate) fn name_cells(
        &self,
        cells: Vec<Cell>,
        options: CellOptions,
        errors: &mut ValidationErrors,
    ) -> NamedCells {
        let (mut object, mut id, mut has_unnamed) = (Map::new(), None, false);
        for (i, cell) in cells.into_iter().enumerate().filter(|(_, cell)| !cell.is_blank()) {
            let Some(name) = self.0.get(i).copied().flatten() else {
                has_unnamed = true;
                continue;
            };
            match cell {
                _ if name == UNKNOWN => {}
                Cell::Text(text) | Cell::Number(text) if UNSTORED.contains(&name) => {
                    if text.contains(['\n', '\r']) {
                        errors.push(name, Code::Format, "must not have line breaks: a quote may be missing");
                    } else if name == ID {
                        id = Id::parse(text.trim());
                    }
                }
                Cell::Text(text) => match member(name, text.trim(), options) {
                    Ok(value) => drop(object.insert(name.to_owned(), value)),
                    Err(message) => errors.push(name, Code::Format, message),
                },
                Cell::Number(text) => {
                    // The options apply to texts only.
                    if let Ok(value) = member(name, &text, CellOptions::default()) {
                        object.insert(name.to_owned(), value);
                    }
                }
                Cell::Invalid(..) if UNSTORED.contains(&name) => {}
                Cell::Invalid(code, message) => errors.push(name, code, message),
            }
        }
        NamedCells { object: Value::Object(object), id, has_unnamed }
    }
}

fn is_number(name: &str) -> bool {
    matches!(name, "commodityId" | "weight" | "weightNet")
}

/// Converts the text of a cell to JSON. Most invalid texts stay strings, which the schema refuses.
///
/// # Errors
/// The message for a number with another decimal separator.
fn member(name: &str, text: &str, options: CellOptions) -> Result<Value, &'static str> {
    let unescaped = unescape_formula(text);
    Ok(match name {
        "tags" => entries(text).take(MAX_TAGS_READ).collect(),
        "deliveryDateISO" => {
            options.date_order.to_iso(unescaped).map_or_else(|| json!(unescaped), Value::from)
        }
        name if is_number(name) => {
            options.decimal.parse(unescaped)?.map_or_else(|| json!(unescaped), |number| json!(number))
        }
        _ => json!(unescaped),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_at_most_one_tag_too_many() {
        let read = |count: usize| {
            let tags = member("tags", &"a; ;".repeat(count), CellOptions::default());
            tags.unwrap().as_array().map(Vec::len)
        };
        assert_eq!([read(50), read(51), read(32_500)], [Some(50), Some(51), Some(51)]);
    }
}
