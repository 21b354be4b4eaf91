//! Reads CSV and XLSX files row by row, within the limits of a batch.

mod budget;
mod cell;
mod csv;
mod error;
#[cfg(test)]
mod tests;
mod xlsx;

use std::fs::File;
use std::io::{Read, Seek};

use common::validation::Code;

pub(crate) use budget::{Budget, TableLimits};
pub(crate) use cell::{Cell, TableRow};
use csv::CsvReader;
pub(crate) use error::TableError;
use xlsx::XlsxReader;

use super::options::TextEncoding;

const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
/// Begins a workbook of the old binary format, and an encrypted XLSX workbook.
const OLE_MAGIC: &[u8] = b"\xd0\xcf\x11\xe0";
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// The number of bytes that are searched for a NUL byte.
const SNIFFED_BYTES: u64 = 4096;

/// A reader for the rows of a table.
pub(crate) enum TableReader {
    Csv(CsvReader),
    Xlsx(Box<XlsxReader>),
}

impl TableReader {
    /// Opens a file. Detects the format from the content. `encoding` is that of CSV without a byte order mark.
    ///
    /// # Errors
    /// If the file is not a table, or announces a sheet beyond the limits.
    pub(crate) fn open(
        mut file: File,
        encoding: TextEncoding,
        budget: &mut Budget,
    ) -> Result<Self, TableError> {
        let mut head = Vec::new();
        file.rewind()?;
        (&file).take(SNIFFED_BYTES).read_to_end(&mut head)?;
        file.rewind()?;
        if head.starts_with(ZIP_MAGIC) {
            return Ok(Self::Xlsx(Box::new(XlsxReader::open(file, budget)?)));
        }
        let detected = if head.starts_with(OLE_MAGIC) {
            "an old or encrypted workbook: save it as XLSX without a password, or as CSV"
        } else if UTF_16_MARKS.iter().any(|mark| head.starts_with(mark)) {
            return Err(TableError::unreadable("is UTF-16: save it as CSV UTF-8", Some(1)));
        } else if head.contains(&0) {
            "something else"
        } else {
            return Ok(Self::Csv(CsvReader::new(file, encoding)?));
        };
        Err(TableError::refused(Code::Format, format!("must be CSV or XLSX; this is {detected}")))
    }

    /// Returns the next row that is not blank.
    ///
    /// # Errors
    /// If the rest cannot be read or exceeds the budget.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
        loop {
            let row = match self {
                Self::Csv(csv) => csv.next(budget)?,
                Self::Xlsx(xlsx) => xlsx.next(budget)?,
            };
            match row {
                Some(row) if row.cells.iter().all(Cell::is_blank) => budget.take_blank_row()?,
                other => return Ok(other),
            }
        }
    }
}
