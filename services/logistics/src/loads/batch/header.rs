//! The header row: which column has which name.

use std::borrow::Cow;

use common::validation::{Code, ValidationErrors};
use database::Id;
use serde_json::{Map, Value, json};
use tables::text::{SEPARATOR, entries, is_scientific, is_spreadsheet_error, unescape_formula};
use tables::{Cell, Formulas, HeaderRank, Number, SPREADSHEET_ERROR, TableRow};

use super::options::CellOptions;
use crate::loads::members::{COLUMNS, Kind, MEMBERS, SAMPLE_REFERENCE};

/// Names the loads that exist already.
const ID: &str = "id";
/// The columns of the parties, of which at least one is required, unless the form names the organiser.
const PARTIES: [&str; 2] = ["organiserId", "carrierId"];
/// Of each group, at least one column is required.
const REQUIRED: [&[&str]; 4] =
    [&["reference"], &["deliveryDateISO"], &["commodityId", "commodityName"], &PARTIES];
/// Replaces an unknown column name, which is reported once.
const UNKNOWN: &str = "";
/// One more than a load may have. More tags would not change the response.
const MAX_TAGS_READ: usize = 51;
/// The number of known names from which on a row looks like a header row.
const MIN_NAMES: usize = 2;
/// The number of characters of an unknown column name in the response.
const MAX_NAME_CHARS: usize = 100;

/// The columns of a table. A column without a name is `None`.
pub(crate) struct HeaderRow(Vec<Option<Heading>>);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Heading {
    name: &'static str,
    /// `None` for a column of which batches store nothing.
    kind: Option<Kind>,
}

/// A row by the names of its columns.
pub(crate) struct NamedCells {
    /// An object with the members of a [`BatchRow`](crate::loads::form::BatchRow).
    pub(crate) object: Value,
    /// The load that the column `id` names.
    pub(crate) id: Option<Id>,
    /// A cell is in a column without a name.
    pub(crate) has_unnamed: bool,
}

impl HeaderRow {
    /// Returns how much a row looks like the header row.
    pub(crate) fn rank(cells: &[Cell]) -> HeaderRank {
        let name = |cell: &Cell| match cell {
            Cell::Text(text) => Some(known_column(text.trim())?.name),
            _ => None,
        };
        let names: Vec<_> = cells.iter().filter_map(name).collect();
        let has = |group: &&[&str]| *group == PARTIES || group.iter().any(|name| names.contains(name));
        if REQUIRED.iter().all(has) {
            HeaderRank::All
        } else if names.len() >= MIN_NAMES {
            HeaderRank::Some
        } else {
            HeaderRank::None
        }
    }

    /// Parses the header row. Returns `None` if a required column is missing, since every row would then be invalid.
    /// `has_organiser`: the form names an organiser, so that the columns of the parties are optional.
    pub(crate) fn parse(cells: &[Cell], has_organiser: bool, errors: &mut ValidationErrors) -> Option<Self> {
        let mut headings = Vec::new();
        for cell in cells {
            let written = match cell {
                Cell::Text(text) => text.trim(),
                Cell::Covered(_) => "",
                _ => "#",
            };
            if written.is_empty() {
                headings.push(None);
            } else if let Some(known) = known_column(written) {
                if headings.contains(&Some(known)) {
                    errors.push(written, Code::Inconsistent, "occurs twice");
                }
                headings.push(Some(known));
            } else {
                let path: String = written.chars().take(MAX_NAME_CHARS).collect();
                let message = format!("is not a known column: the columns are {}", COLUMNS.join(", "));
                errors.push_with(path, Code::Enum, message, json!({ "allowed": *COLUMNS }));
                headings.push(Some(Heading { name: UNKNOWN, kind: None }));
            }
        }
        let header = Self(headings);
        let is_missing = |group: &[&str]| !group.iter().any(|name| header.position(name).is_some());
        let mut is_complete = true;
        for group in REQUIRED.into_iter().filter(|group| is_missing(group)) {
            if group == PARTIES && has_organiser {
                continue;
            }
            let message = format!("is required: a column {}", group.join(" or "));
            errors.push(group[0], Code::Required, message);
            is_complete = false;
        }
        is_complete.then_some(header)
    }

    /// Returns true for the sample row of the template.
    pub(crate) fn is_sample(&self, cells: &[Cell]) -> bool {
        let is_marker = |cell: &Cell| matches!(cell, Cell::Text(text) if text.trim().eq_ignore_ascii_case(SAMPLE_REFERENCE));
        self.0.iter().zip(cells).any(|(heading, cell)| {
            heading.is_some_and(|heading| heading.name == "reference") && is_marker(cell)
        })
    }

    /// Returns true for a row in which only formulas were filled down, which give 0 or the empty text: its required
    /// columns are empty.
    pub(crate) fn is_filled_down(&self, row: &TableRow) -> bool {
        let is_required = |name: &str| REQUIRED.iter().any(|group| group.contains(&name));
        let is_empty =
            |cell: &Cell| cell.is_blank() || matches!(cell, Cell::Number(number) if number.is_formula);
        let mut cells = self.0.iter().zip(&row.cells);
        row.formulas == Formulas::Nothing
            && cells.all(|(heading, cell)| {
                !heading.is_some_and(|heading| is_required(heading.name)) || is_empty(cell)
            })
    }

    /// Returns the index of a column.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|heading| heading.is_some_and(|heading| heading.name == name))
    }

    /// Reads the cells of a row by the names of their columns.
    pub(crate) fn name_cells(
        &self,
        cells: Vec<Cell>,
        options: CellOptions,
        errors: &mut ValidationErrors,
    ) -> NamedCells {
        let (mut object, mut id, mut has_unnamed) = (Map::new(), None, false);
        for (i, cell) in cells.into_iter().enumerate() {
            let heading = self.0.get(i).copied().flatten();
            let is_covered = matches!(cell, Cell::Covered(_)) && heading.is_some();
            if cell.is_blank() && !is_covered {
                continue;
            }
            let Some(Heading { name, kind }) = heading else {
                has_unnamed = true;
                continue;
            };
            let Some(kind) = kind else {
                let Cell::Text(text) = cell else { continue };
                if name == UNKNOWN {
                } else if text.contains(['\n', '\r']) {
                    errors.push(name, Code::Format, "must not have line breaks: a quote may be missing");
                } else if name == ID {
                    id = Id::parse(text.trim());
                }
                continue;
            };
            match read_cell(kind, cell, options) {
                Ok(value) => drop(value.map(|value| object.insert(name.to_owned(), value))),
                Err((code, message)) => errors.push(name, code, message),
            }
        }
        NamedCells { object: Value::Object(object), id, has_unnamed }
    }
}

/// Returns the column with this name, in any case.
fn known_column(written: &str) -> Option<Heading> {
    let member = MEMBERS.iter().find(|member| member.name.eq_ignore_ascii_case(written))?;
    let column = member.column?;
    Some(Heading { name: member.name, kind: column.is_stored.then_some(column.kind) })
}

/// Code and message for a cell that is refused.
type Refusal = (Code, Cow<'static, str>);

/// Converts a cell to JSON. Most invalid texts stay strings, which the schema refuses. Returns `None` for a number that
/// the sheet does not show.
///
/// # Errors
/// For a cell that a spreadsheet application converted, or whose number or date the column cannot have.
fn read_cell(kind: Kind, cell: Cell, options: CellOptions) -> Result<Option<Value>, Refusal> {
    Ok(Some(match (kind, cell) {
        (_, Cell::Text(text)) => text_member(kind, text.trim(), options)?,
        (Kind::Number, Cell::Number(number)) => {
            json!(number.to_number().map_err(|message| (Code::Type, message))?)
        }
        (Kind::Date, Cell::Number(number)) => json!(number.value.to_string()),
        (Kind::Text | Kind::Tags, Cell::Number(number)) => return number_as_text(kind, &number),
        (Kind::Date, Cell::Date(date)) => json!(date.map_err(|message| (Code::Format, message.into()))?),
        (Kind::Number, Cell::Date(_)) => {
            let message = "must be a number; the cell has a date format: format it as a number";
            return Err((Code::Type, message.into()));
        }
        (Kind::Text | Kind::Tags, Cell::Date(_)) => {
            let message = "is a date cell, and the spreadsheet may have changed what was typed: format the cell as \
                text, then type it again";
            return Err((Code::Format, message.into()));
        }
        (_, Cell::Invalid(fault, message)) => return Err((fault.into(), message.into())),
        (_, Cell::Covered(area)) => {
            let message = format!("is part of the merged cells {area}: unmerge them and fill in each cell");
            return Err((Code::Format, message.into()));
        }
    }))
}

/// Converts the text of a cell.
fn text_member(kind: Kind, text: &str, options: CellOptions) -> Result<Value, Refusal> {
    let unescaped = unescape_formula(text);
    let is_escaped = unescaped.len() < text.len();
    let has_entry = |is_refused: fn(&str) -> bool| {
        kind == Kind::Tags && text.split(SEPARATOR).any(|entry| is_refused(entry.trim()))
    };
    if has_entry(is_spreadsheet_error) || (!is_escaped && is_spreadsheet_error(text)) {
        return Err((Code::Type, SPREADSHEET_ERROR.into()));
    }
    Ok(match kind {
        Kind::Text | Kind::Tags if has_entry(is_scientific) || (!is_escaped && is_scientific(text)) => {
            let message = "is a number in scientific notation, which lost digits: format the cell as text, then type \
                the number again";
            return Err((Code::Format, message.into()));
        }
        Kind::Text => json!(unescaped),
        Kind::Tags => entries(text).take(MAX_TAGS_READ).collect(),
        Kind::Date => options.date_order.to_iso(unescaped).map_or_else(|| json!(unescaped), Value::from),
        Kind::Number => match options.decimal.parse(unescaped) {
            Ok(number) => number.map_or_else(|| json!(unescaped), |number| json!(number)),
            Err(message) => return Err((Code::Format, message.into())),
        },
    })
}

/// Converts a number to the text that the sheet shows.
fn number_as_text(kind: Kind, number: &Number) -> Result<Option<Value>, Refusal> {
    let text = number.to_text().map_err(|message| (Code::Format, message.into()))?;
    let text = text.trim();
    // The text is what the sheet shows, not what somebody wrote: nothing in it is an option or an escape.
    if text.is_empty() {
        return Ok(None);
    }
    if is_scientific(text) {
        return text_member(kind, text, CellOptions::default()).map(Some);
    }
    Ok(Some(if kind == Kind::Tags { entries(text).take(MAX_TAGS_READ).collect() } else { json!(text) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_at_most_one_tag_too_many() {
        let read = |count: usize| {
            let tags = text_member(Kind::Tags, &"a; ;".repeat(count), CellOptions::default());
            tags.unwrap().as_array().map(Vec::len)
        };
        assert_eq!([read(50), read(51), read(32_500)], [Some(50), Some(51), Some(51)]);
    }

    #[test]
    fn tags_are_refused_as_other_texts_are() {
        let read = |text| text_member(Kind::Tags, text, CellOptions::default()).map_err(|(code, _)| code);
        for error in ["#N/A;b", "a; #REF! ", "'=1;#N/A"] {
            assert_eq!(read(error), Err(Code::Type), "{error}");
        }
        assert_eq!(read("a;1.23457E+14"), Err(Code::Format));
        assert_eq!(read("'#N/A;'1.5E+10"), Ok(json!(["#N/A", "1.5E+10"])));
    }
}
