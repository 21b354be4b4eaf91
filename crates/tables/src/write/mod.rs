//! Writes rows of typed cells as CSV or as a worksheet.

mod csv;
mod xlsx;

use std::borrow::Cow;

use crate::NumberFormat;

pub use csv::{CsvCell, CsvWriter};
pub use xlsx::{SHEET_NAME, SheetRows, XLSX_MEDIA_TYPE, XlsxWriter};

/// A cell of an export.
#[derive(Clone, Debug)]
pub enum TableCell<'a> {
    /// A text, such as an id, a postcode or the number of a ticket.
    Text(Cow<'a, str>),
    /// The digits of a number, as in JSON. Empty for none.
    Number(Cow<'a, str>),
    /// An instant in UTC (RFC 3339). Empty for none.
    Instant(Cow<'a, str>),
    /// An instant in UTC that stands for its day if it is midnight. Empty for none.
    Day(Cow<'a, str>),
    /// Texts without `;`.
    List(Vec<Cow<'a, str>>),
    /// The text of a cell that was read, which a batch reads as it did before.
    Raw(Cow<'a, str>),
    /// A number with its format in a workbook, and its text in CSV.
    Formatted(f64, &'a NumberFormat, Cow<'a, str>),
}

impl<'a> TableCell<'a> {
    /// Creates a cell from a text.
    pub fn text(text: &'a str) -> Self {
        Self::Text(text.into())
    }

    /// Creates a cell from the digits of a number.
    pub fn number(digits: &'a str) -> Self {
        Self::Number(digits.into())
    }

    /// Creates a cell from a list of texts.
    pub fn list<T: AsRef<str> + ?Sized + 'a>(texts: impl IntoIterator<Item = &'a T>) -> Self {
        Self::List(texts.into_iter().map(|text| text.as_ref().into()).collect())
    }

    /// Returns the cell of a CSV file.
    pub fn to_csv(&self) -> CsvCell<'_> {
        match self {
            Self::Number(digits) => CsvCell::number(digits),
            Self::Text(text) | Self::Instant(text) | Self::Day(text) => CsvCell::text(text),
            Self::List(texts) => CsvCell::list(texts),
            Self::Raw(text) | Self::Formatted(_, _, text) => CsvCell::raw(text),
        }
    }
}

/// A buffer of rows in the format of the response.
#[derive(Debug)]
pub struct RowWriter(Rows);

#[derive(Debug)]
enum Rows {
    Csv(CsvWriter),
    Sheet(SheetRows),
}

impl RowWriter {
    /// Returns an empty buffer of CSV.
    pub fn csv() -> Self {
        Self(Rows::Csv(CsvWriter::default()))
    }

    /// Returns a buffer of rows of a worksheet.
    pub fn sheet(rows: SheetRows) -> Self {
        Self(Rows::Sheet(rows))
    }

    /// Appends a row.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = TableCell<'a>>) {
        match &mut self.0 {
            Rows::Csv(csv) => {
                for cell in cells {
                    csv.cell(&cell.to_csv());
                }
                csv.end_row();
            }
            Rows::Sheet(sheet) => sheet.row(cells),
        }
    }

    /// Appends blank rows up to a line, unless it was reached before.
    pub fn skip_to(&mut self, line: u32) {
        if let Rows::Sheet(sheet) = &mut self.0 {
            sheet.skip_to(line);
        }
    }

    /// Returns the rows of a CSV file.
    pub fn into_csv(self) -> Vec<u8> {
        if let Rows::Csv(csv) = self.0 { csv.into_bytes() } else { Vec::new() }
    }

    /// Returns the rows of a worksheet.
    pub fn into_sheet(self) -> SheetRows {
        if let Rows::Sheet(sheet) = self.0 { sheet } else { SheetRows::default() }
    }
}
