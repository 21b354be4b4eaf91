//! Rows and cells of a table.

use std::borrow::Cow;

use crate::read::Fault;

use super::number_format::{NumberFormat, TOO_MANY_DIGITS, general};

/// The message for a cell with a spreadsheet error.
pub const SPREADSHEET_ERROR: &str =
    "is a spreadsheet error, such as #N/A or ####: mend the formula or widen the column, or empty the cell";

/// A row of a table.
#[derive(Debug, Default)]
pub struct TableRow {
    /// The line of a CSV file where the row begins, or the number of the row in the sheet. The first is 1.
    pub line: u64,
    /// The cells by column.
    pub cells: Vec<Cell>,
    /// The sheet hides the row.
    pub is_hidden: bool,
    /// What its formulas give.
    pub formulas: Formulas,
}

/// What the formulas of a row give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formulas {
    /// There are none.
    #[default]
    None,
    /// 0 or the empty text each.
    Nothing,
    /// At least one gives a value, or its result is not known.
    Value,
}

/// A cell of a table.
#[derive(Debug, PartialEq)]
pub enum Cell {
    /// A text, empty for an empty cell.
    Text(String),
    /// A number, as the file states it and as the sheet shows it.
    Number(Number),
    /// A date or instant in ISO 8601.
    Date(String),
    /// A cell with the format of a date that is none: why, what it contains, and its number with the format, in which
    /// day 1 is 1900-01-01.
    NoDate(&'static str, String, Option<(f64, NumberFormat)>),
    /// A cell that cannot be read, with code and message of the error, and what it contains.
    Invalid(Fault, &'static str, String),
    /// A cell that the sheet does not show, because these merged cells cover it.
    Covered(String),
}

/// A number that the file states as one.
#[derive(Debug, PartialEq)]
pub struct Number {
    /// The number that the file states.
    pub value: f64,
    /// `None` for `General`.
    pub format: Option<NumberFormat>,
    /// The result of a formula.
    pub is_formula: bool,
}

impl TableRow {
    /// Returns true if no cell shows anything.
    pub fn is_blank(&self) -> bool {
        self.cells.iter().all(Cell::is_blank)
    }
}

impl Cell {
    /// Returns the length of the text in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        if let Self::Text(text) = self { text.len() } else { 0 }
    }

    /// Returns the text of the cell: what a CSV file of the same table contains.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) | Self::Date(text) | Self::NoDate(_, text, _) | Self::Invalid(_, _, text) => {
                text.into()
            }
            Self::Number(number) => number.to_text().unwrap_or_else(|_| general(number.value)).into(),
            Self::Covered(_) => "".into(),
        }
    }

    /// Returns true if the cell shows nothing but white space.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Covered(_) => true,
            _ => false,
        }
    }
}

impl Number {
    /// Returns what the sheet shows.
    ///
    /// # Errors
    /// The message for a number that is not shown with all its digits, or in a way that is not known.
    pub fn to_text(&self) -> Result<String, &'static str> {
        if self.value.abs() >= TOO_MANY_DIGITS {
            return Err(
                "is a number of more than 15 digits, of which spreadsheets lose the last ones: format the cell as \
                 text, then type the number again",
            );
        }
        match &self.format {
            None => Ok(general(self.value)),
            Some(format) => format.show(self.value).map(|shown| shown.text).ok_or(
                "is a number whose format cannot be read: format the cell as text, then type what it shows",
            ),
        }
    }

    /// Returns the number.
    ///
    /// # Errors
    /// The message for a format that shows another number, such as a percentage.
    pub fn to_number(&self) -> Result<f64, Cow<'static, str>> {
        let Some(format) = &self.format else { return Ok(self.value) };
        match format.show(self.value) {
            Some(shown) if shown.is_number(self.value) => Ok(self.value),
            Some(shown) => Err(format!(
                "must be a number that the sheet shows as it is: the cell contains {} and shows {:?}; give it another \
                 number format",
                general(self.value),
                shown.text.trim()
            )
            .into()),
            // A fraction, for example.
            None => Err("must be a number with a plain format: that of the cell cannot be read".into()),
        }
    }
}
