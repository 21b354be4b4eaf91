//! The header row: which column has which name, and what its cells are.

use std::borrow::Cow;

use common::validation::{Code, FieldError, ValidationErrors};
use database::Id;
use serde_json::{Map, Value, json};
use tables::text::{SEPARATOR, entries, is_scientific, is_spreadsheet_error, unescape_formula};
use tables::{Cell, Formulas, HeaderRank, MAX_COLUMNS, Number, SPREADSHEET_ERROR, TableRow};

use super::headings::{Assigned, Headings, alias, named_column};
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

/// A column that batches ignore: the sheet of a dry run has it, which people mend and send again.
pub(crate) const PROBLEMS: &str = "Problems";
/// Replaces the name of a column that is not read.
const NOT_READ: &str = "-";

/// The columns of a table.
pub(crate) struct HeaderRow {
    /// A column without a name is `None`. Columns that the file lacks are behind those that a file can have.
    headings: Vec<Option<Heading>>,
    /// The headings of the file as they are written.
    written: Vec<String>,
    /// No required column is missing.
    pub(crate) is_complete: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Heading {
    name: &'static str,
    /// `None` for a column of which batches store nothing.
    kind: Option<Kind>,
}

impl Heading {
    const fn ignored(name: &'static str) -> Self {
        Self { name, kind: None }
    }
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
    pub(crate) fn rank(cells: &[Cell], assigned: &Headings) -> HeaderRank {
        let name = |cell: &Cell| match cell {
            Cell::Text(text) => match assigned.assigned(text) {
                Some(Assigned::Column(column)) => Some(column),
                Some(Assigned::NotRead) => None,
                None => known_column(text.trim()).map(|heading| heading.name),
            },
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

    /// Parses the header row. If a required column is missing, every row would be invalid. A column of `corrected` is
    /// present too. With `has_organiser`, those of the parties are optional.
    pub(crate) fn parse(
        cells: &[Cell],
        headings: &Headings,
        (corrected, has_organiser): (impl Iterator<Item = &'static str>, bool),
        errors: &mut ValidationErrors,
    ) -> Self {
        let mut header = Self { headings: Vec::new(), written: Vec::new(), is_complete: true };
        let mut assigned: Vec<&str> = Vec::new();
        for cell in cells {
            let written = match cell {
                Cell::Text(text) => text.trim(),
                Cell::Covered(_) => "",
                _ => "#",
            };
            let heading = match headings.assigned(written).filter(|_| !written.is_empty()) {
                Some(Assigned::Column(column)) => column_named(column),
                Some(Assigned::NotRead) => Some(Heading::ignored(NOT_READ)),
                None => known_column(written),
            };
            let is_assigned = matches!(headings.assigned(written), Some(Assigned::Column(_)));
            header.written.push(written.chars().take(MAX_NAME_CHARS).collect());
            if written.is_empty() {
                header.headings.push(None);
                continue;
            }
            if let Some(known) = heading {
                let occurs = known.kind.is_some() || named_column(known.name).is_some();
                if occurs && header.position(known.name).is_some() {
                    if is_assigned || assigned.contains(&known.name) {
                        let message = format!("gives {} two headings of the file", known.name);
                        let data = json!({ "column": known.name, "heading": written });
                        errors.push_with("headings", Code::Inconsistent, message, data);
                    } else {
                        errors.push(written, Code::Inconsistent, "occurs twice");
                    }
                }
                if is_assigned {
                    assigned.push(known.name);
                }
                header.headings.push(Some(known));
            } else {
                let path: String = written.chars().take(MAX_NAME_CHARS).collect();
                let message = format!("is not a known column: the columns are {}", COLUMNS.join(", "));
                // `push_with` would take `Note[2]` for an item of `Note`.
                if errors.iter().all(|error| error.path != path) {
                    let data = Map::from_iter([("allowed".to_owned(), json!(*COLUMNS))]);
                    errors.extend([FieldError { path, message, code: Code::Enum, data }]);
                }
                header.headings.push(Some(Heading::ignored(UNKNOWN)));
            }
        }
        for column in corrected {
            if header.position(column).is_none() {
                header.headings.resize(header.headings.len().max(MAX_COLUMNS), None);
                header.headings.push(column_named(column));
            }
        }
        for group in REQUIRED {
            let is_present = group.iter().any(|name| header.position(name).is_some());
            if is_present || (group == PARTIES && has_organiser) {
                continue;
            }
            let message = format!("is required: a column {}", group.join(" or "));
            errors.push(group[0], Code::Required, message);
            header.is_complete = false;
        }
        header
    }

    /// Returns the headings of the file with their columns. A column without a name has an empty heading.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, Option<&'static str>)> {
        let column = |heading: &Option<Heading>| heading.and_then(|heading| named_column(heading.name));
        self.written.iter().map(String::as_str).zip(self.headings.iter().map(column))
    }

    /// Returns the place and the name of each column, also of those that the file lacks.
    pub(crate) fn all_columns(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let columns = self.headings.iter().enumerate();
        columns.filter_map(|(position, heading)| Some((position, named_column(heading.as_ref()?.name)?)))
    }

    /// Returns the columns that only corrections have.
    pub(crate) fn appended(&self) -> impl Iterator<Item = &'static str> {
        self.headings.iter().skip(MAX_COLUMNS).flatten().map(|heading| heading.name)
    }

    /// Returns the heading of a column in the file, or its name.
    pub(crate) fn heading_of<'a>(&'a self, column: &'a str) -> &'a str {
        let written = self.file_position(column).and_then(|position| self.written.get(position));
        written.map_or(column, String::as_str)
    }

    /// Returns the kind of the column at this place.
    pub(crate) fn kind(&self, position: usize) -> Option<Kind> {
        self.headings.get(position).copied().flatten()?.kind
    }

    /// Returns true for the column of problems.
    pub(crate) fn is_problems(&self, position: usize) -> bool {
        self.headings.get(position).copied().flatten().is_some_and(|heading| heading.name == PROBLEMS)
    }

    /// Returns true for the sample row of the template.
    pub(crate) fn is_sample(&self, cells: &[Cell]) -> bool {
        let is_marker = |cell: &Cell| matches!(cell, Cell::Text(text) if text.trim().eq_ignore_ascii_case(SAMPLE_REFERENCE));
        self.headings.iter().zip(cells).any(|(heading, cell)| {
            heading.is_some_and(|heading| heading.name == "reference") && is_marker(cell)
        })
    }

    /// Returns true for a row in which only formulas were filled down, which give 0 or the empty text: its required
    /// columns are empty.
    pub(crate) fn is_filled_down(&self, row: &TableRow) -> bool {
        let is_required = |name: &str| REQUIRED.iter().any(|group| group.contains(&name));
        let is_empty =
            |cell: &Cell| cell.is_blank() || matches!(cell, Cell::Number(number) if number.is_formula);
        let mut cells = self.headings.iter().zip(&row.cells);
        row.formulas == Formulas::Nothing
            && cells.all(|(heading, cell)| {
                !heading.is_some_and(|heading| is_required(heading.name)) || is_empty(cell)
            })
    }

    /// Returns the index of a column.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.headings.iter().position(|heading| heading.is_some_and(|heading| heading.name == name))
    }

    /// Returns the index of a column that the file has.
    pub(crate) fn file_position(&self, name: &str) -> Option<usize> {
        self.position(name).filter(|position| *position < MAX_COLUMNS)
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
            let heading = self.headings.get(i).copied().flatten();
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
                if [UNKNOWN, NOT_READ, PROBLEMS].contains(&name) {
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

    /// Returns true if a row has no text, or only in columns that are not read.
    pub(crate) fn is_blank(&self, cells: &[Cell]) -> bool {
        cells.iter().enumerate().all(|(position, cell)| cell.is_blank() || !self.is_read(position))
    }

    /// Empties the cells of a row, except in columns that are not read.
    pub(crate) fn empty(&self, cells: &mut [Cell]) {
        for (_, cell) in cells.iter_mut().enumerate().filter(|(position, _)| self.is_read(*position)) {
            *cell = Cell::Text(String::new());
        }
    }

    fn is_read(&self, position: usize) -> bool {
        match self.headings.get(position).copied().flatten() {
            Some(Heading { name, kind: None }) => name == ID,
            Some(_) | None => true,
        }
    }
}

/// Returns the column that a heading names: by its name or that of [`PROBLEMS`], in any case, or by an alias.
fn known_column(written: &str) -> Option<Heading> {
    let named = MEMBERS.iter().find(|member| member.name.eq_ignore_ascii_case(written));
    if let Some(heading) = named.and_then(|member| column_named(member.name)) {
        return Some(heading);
    }
    if written.eq_ignore_ascii_case(PROBLEMS) {
        return Some(Heading::ignored(PROBLEMS));
    }
    alias(written).and_then(column_named)
}

fn column_named(name: &str) -> Option<Heading> {
    let member = MEMBERS.iter().find(|member| member.name == name)?;
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
        (Kind::Date, Cell::Date(date)) => json!(date),
        (Kind::Date, Cell::NoDate(message, ..)) => return Err((Code::Format, message.into())),
        (Kind::Number, Cell::Date(_) | Cell::NoDate(..)) => {
            let message = "must be a number; the cell has a date format: format it as a number";
            return Err((Code::Type, message.into()));
        }
        (Kind::Text | Kind::Tags, Cell::Date(_) | Cell::NoDate(..)) => {
            let message = "is a date cell, and the spreadsheet may have changed what was typed: format the cell as \
                text, then type it again";
            return Err((Code::Format, message.into()));
        }
        (_, Cell::Invalid(fault, message, _)) => return Err((fault.into(), message.into())),
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
    fn each_unknown_heading_is_reported_once() {
        let cells = ["Extra", "Extra.1", "Note", "Note[2]", "Extra"].map(|text| Cell::Text(text.to_owned()));
        let mut errors = ValidationErrors::default();
        HeaderRow::parse(&cells, &Headings::default(), (std::iter::empty(), true), &mut errors);
        let unknown = errors.iter().filter(|error| error.code == Code::Enum).map(|error| error.path.as_str());
        assert_eq!(unknown.collect::<Vec<_>>(), ["Extra", "Extra.1", "Note", "Note[2]"]);
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
