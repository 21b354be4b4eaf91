//! Tables, read row by row: CSV and XLSX, told apart by their content, within bounds whatever is in the file.

mod csv;
mod fault;
#[cfg(test)]
mod tests;
mod xlsx;

use std::fs::File;
use std::io::{Read, Seek};

use common::problem::Code;

use csv::Csv;
pub use fault::Fault;
use xlsx::Xlsx;

/// No table has more columns.
const COLUMNS_MAX: usize = 256;
/// A text is cut off at so many bytes, which is more than any column takes.
const TEXT_MAX: usize = 64 << 10;

/// What a table may have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub rows: usize,
    /// Of the file as it came. A sheet may unpack to five times as many, and its strings to twice: far more than the
    /// most rows take.
    pub bytes: usize,
}

/// What stands in a row, by column.
#[derive(Debug, Default)]
pub struct Row {
    /// The line in the file where it begins; the sheet's row.
    pub line: u64,
    pub cells: Vec<Cell>,
}

/// What stands in a cell.
#[derive(Debug, PartialEq, Eq)]
pub enum Cell {
    Text(String),
    /// Nothing that could be taken for a text, and why.
    Refused(Code, &'static str),
}

impl Cell {
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }
}

/// A table whose rows are being read.
pub enum Table {
    Csv(Csv),
    Xlsx(Box<Xlsx>),
}

impl Table {
    /// Opens a file; a sheet that says to have more rows than there may be is refused.
    ///
    /// # Errors
    /// If it is no table.
    pub fn open(mut file: File, limits: Limits) -> Result<Self, Fault> {
        let mut head = Vec::new();
        file.rewind()?;
        (&file).take(4096).read_to_end(&mut head)?;
        file.rewind()?;
        if head.starts_with(b"PK\x03\x04") {
            return Ok(Self::Xlsx(Box::new(Xlsx::open(file, limits)?)));
        }
        let why = if head.starts_with(b"\xd0\xcf\x11\xe0") {
            "an old or encrypted workbook: save it as XLSX without a password, or as CSV"
        } else if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
            return Err(Fault::unreadable("is UTF-16: save it as CSV UTF-8", Some(1)));
        } else if head.contains(&0) {
            "something else"
        } else {
            return Ok(Self::Csv(Csv::new(file)?));
        };
        Err(Fault::refused(Code::Format, format!("must be CSV or XLSX; this is {why}")))
    }

    /// The next row that is not wholly blank.
    ///
    /// # Errors
    /// If the rest cannot be read.
    pub fn next(&mut self) -> Result<Option<Row>, Fault> {
        loop {
            let row = match self {
                Self::Csv(csv) => csv.next()?,
                Self::Xlsx(xlsx) => xlsx.next()?,
            };
            match row {
                Some(row) if row.cells.iter().all(Cell::is_blank) => {}
                other => return Ok(other),
            }
        }
    }
}
