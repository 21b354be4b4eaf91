//! The header row: what stands in which column.

use common::csv::{entries, unescape_formula};
use common::validation::{Code, ValidationErrors};
use serde_json::{Map, Value, json};

use super::table::Cell;
use crate::loads::columns::COLUMNS;

/// Written by exports, but not for a batch to say: its loads are new.
const IGNORED: [&str; 5] = ["id", "status", "files", "createdAtUTC", "completedAtUTC"];
/// One column of each must be there.
const REQUIRED: [&[&str]; 4] =
    [&["reference"], &["deliveryDateISO"], &["commodityId", "commodityName"], &["organiserId", "carrierId"]];
/// Stands for a name that is none, which is told once.
const REFUSED: &str = "";
/// One more than a load may have: further tags make no difference to the answer.
const MAX_TAGS_READ: usize = 51;
/// So much of an unknown name is told.
const NAME_SHOWN: usize = 100;

/// The names of the columns, where a cell stands in one.
pub struct Header(Vec<Option<&'static str>>);

impl Header {
    /// Reads the header row. Nothing if a column is missing, without which there is no sense in looking at rows.
    /// `has_organiser`: the form names one.
    pub fn read(cells: &[Cell], has_organiser: bool, errors: &mut ValidationErrors) -> Option<Self> {
        let mut names = Vec::new();
        for cell in cells {
            let written = if let Cell::Text(text) = cell { text.trim() } else { "#" };
            let known = COLUMNS.iter().chain(&IGNORED).find(|name| name.eq_ignore_ascii_case(written));
            if written.is_empty() {
                names.push(None);
            } else if let Some(&name) = known {
                if names.contains(&Some(name)) {
                    errors.push(written, Code::Inconsistent, "is there twice");
                }
                names.push(Some(name));
            } else {
                let shown: String = written.chars().take(NAME_SHOWN).collect();
                let message = format!("is no column: the columns are {}", COLUMNS.join(", "));
                errors.push_with(shown, Code::Enum, message, json!({ "allowed": COLUMNS }));
                names.push(Some(REFUSED));
            }
        }
        let is_missing = |any: &[&str]| !any.iter().any(|name| names.contains(&Some(name)));
        let mut complete = true;
        for any in REQUIRED.into_iter().filter(|any| is_missing(any)) {
            if any.contains(&"organiserId") && has_organiser {
                continue;
            }
            errors.push(any[0], Code::Required, format!("is required: a column {}", any.join(" or ")));
            complete = false;
        }
        complete.then_some(Self(names))
    }

    /// A row as an object with the members that JSON would have; and whether a cell stands outside of the columns.
    pub fn object(&self, cells: Vec<Cell>, errors: &mut ValidationErrors) -> (Value, bool) {
        let (mut object, mut stray) = (Map::new(), false);
        for (i, cell) in cells.into_iter().enumerate().filter(|(_, cell)| !cell.is_blank()) {
            let Some(name) = self.0.get(i).copied().flatten() else {
                stray = true;
                continue;
            };
            match cell {
                _ if name == REFUSED => {}
                Cell::Text(text) if IGNORED.contains(&name) => {
                    if text.contains(['\n', '\r']) {
                        errors.push(name, Code::Format, "has line breaks: is a quote missing?");
                    }
                }
                Cell::Text(text) => drop(object.insert(name.to_owned(), member(name, text.trim()))),
                Cell::Refused(..) if IGNORED.contains(&name) => {}
                Cell::Refused(code, why) => errors.push(name, code, why),
            }
        }
        (Value::Object(object), stray)
    }
}

/// What stands in a cell, as JSON would have it; the schema says what is wrong with it.
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
    fn one_tag_too_many_is_read_and_no_more() {
        let read = |count: usize| member("tags", &"a; ;".repeat(count)).as_array().map(Vec::len);
        assert_eq!([read(50), read(51), read(32_500)], [Some(50), Some(51), Some(51)]);
    }
}
