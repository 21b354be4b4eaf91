//! The header row: which column has which name.

use common::csv::{entries, unescape_formula};
use common::validation::{Code, ValidationErrors};
use serde_json::{Map, Value, json};

use super::table::Cell;
use crate::loads::columns::COLUMNS;

/// Columns that are accepted and ignored, since the loads of a batch are new. Exports write all of them except
/// `createdAtUTC`.
const IGNORED: [&str; 5] = ["id", "status", "files", "createdAtUTC", "completedAtUTC"];
/// Of each group, at least one column is required.
const REQUIRED: [&[&str]; 4] =
    [&["reference"], &["deliveryDateISO"], &["commodityId", "commodityName"], &["organiserId", "carrierId"]];
/// Replaces an unknown column name, which is reported once.
const UNKNOWN: &str = "";
/// One more than a load may have. More tags would not change the response.
const MAX_TAGS_READ: usize = 51;
/// The number of characters of an unknown column name in the response.
const MAX_NAME_CHARS: usize = 100;

/// The names of the columns. A column without a name is `None`.
pub(crate) struct HeaderRow(Vec<Option<&'static str>>);

impl HeaderRow {
    /// Parses the header row. Returns `None` if a required column is missing, since every row would then be invalid.
    /// `has_organiser`: the form names an organiser, so that the columns of the parties are optional.
    pub(crate) fn parse(cells: &[Cell], has_organiser: bool, errors: &mut ValidationErrors) -> Option<Self> {
        let mut names = Vec::new();
        for cell in cells {
            let written = if let Cell::Text(text) = cell { text.trim() } else { "#" };
            let known = COLUMNS.iter().chain(&IGNORED).find(|name| name.eq_ignore_ascii_case(written));
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

    /// Converts a row to an object with the members of a [`BatchRow`](super::row::BatchRow). Returns true if a cell is
    /// in a column without a name.
    pub(crate) fn to_object(&self, cells: Vec<Cell>, errors: &mut ValidationErrors) -> (Value, bool) {
        let (mut object, mut has_unnamed) = (Map::new(), false);
        for (i, cell) in cells.into_iter().enumerate().filter(|(_, cell)| !cell.is_blank()) {
            let Some(name) = self.0.get(i).copied().flatten() else {
                has_unnamed = true;
                continue;
            };
            match cell {
                _ if name == UNKNOWN => {}
                Cell::Text(text) if IGNORED.contains(&name) => {
                    if text.contains(['\n', '\r']) {
                        errors.push(name, Code::Format, "must not have line breaks: a quote may be missing");
                    }
                }
                Cell::Text(text) => drop(object.insert(name.to_owned(), member(name, text.trim()))),
                Cell::Invalid(..) if IGNORED.contains(&name) => {}
                Cell::Invalid(code, message) => errors.push(name, code, message),
            }
        }
        (Value::Object(object), has_unnamed)
    }
}

/// Converts the text of a cell to JSON. Invalid texts stay strings, which the schema refuses.
fn member(name: &str, text: &str) -> Value {
    match name {
        "tags" => entries(text).take(MAX_TAGS_READ).collect(),
        "commodityId" | "weight" | "weightNet" => {
            let text = unescape_formula(text);
            text.parse::<f64>().ok().filter(|n| n.is_finite()).map_or_else(|| json!(text), |n| json!(n))
        }
        _ => json!(unescape_formula(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_at_most_one_tag_too_many() {
        let read = |count: usize| member("tags", &"a; ;".repeat(count)).as_array().map(Vec::len);
        assert_eq!([read(50), read(51), read(32_500)], [Some(50), Some(51), Some(51)]);
    }
}
