//! Rows and cells of a table.

use common::validation::Code;

/// A row of a table.
#[derive(Debug, Default)]
pub(crate) struct TableRow {
    /// The line of a CSV file where the row begins, or the number of the row in the sheet. The first is 1.
    pub line: u64,
    /// The cells by column.
    pub cells: Vec<Cell>,
}

/// A cell of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Text(String),
    /// The text of a number that the file states as one, with a decimal point.
    Number(String),
    /// A cell that cannot be read as text, with code and message of the error.
    Invalid(Code, &'static str),
}

impl Cell {
    /// Returns the length of the text in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        if let Self::Text(text) | Self::Number(text) = self { text.len() } else { 0 }
    }

    /// Returns true if the cell has only white space.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }
}
