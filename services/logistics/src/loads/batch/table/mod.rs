//! Reads CSV and XLSX files row by row, within the limits of a batch.

mod budget;
mod cell;
mod csv;
mod error;
mod format;
mod head;
mod number_format;
#[cfg(test)]
mod tests;
mod xlsx;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Seek;

pub(crate) use budget::{Budget, TableLimits};
pub(crate) use cell::{Cell, Formulas, Number, SPREADSHEET_ERROR, TableRow};
use csv::CsvReader;
pub(crate) use error::TableError;
use format::FileFormat;
pub(crate) use head::HeaderRank;
use xlsx::XlsxReader;
pub(crate) use xlsx::cell_name;

use super::options::TextEncoding;

/// A reader for the rows of a table, from its header row on.
pub(crate) struct TableReader {
    format: Reader,
    /// Rows that were read ahead.
    rows: VecDeque<TableRow>,
}

enum Reader {
    Csv(CsvReader),
    Xlsx(Box<XlsxReader>),
}

impl TableReader {
    /// Opens a file. Detects the format from the content. `encoding` is that of CSV without a byte order mark, `rank`
    /// tells header rows. Rows before the header row are left out.
    ///
    /// # Errors
    /// If the file is not a table, or exceeds the limits.
    pub(crate) fn open(
        mut file: File,
        encoding: TextEncoding,
        rank: impl Fn(&[Cell]) -> HeaderRank,
        budget: &mut Budget,
    ) -> Result<Self, TableError> {
        let format = FileFormat::detect(&mut file)?;
        file.rewind().map_err(TableError::Disk)?;
        let mut format = match format {
            FileFormat::Archive => Reader::Xlsx(Box::new(XlsxReader::open(file, &rank, budget)?)),
            FileFormat::Csv => Reader::Csv(CsvReader::new(file, encoding)?),
        };
        let rows = head::read(|| format.next(budget), &rank)?.rows;
        Ok(Self { format, rows })
    }

    /// Returns the name of the sheet of a workbook.
    pub(crate) fn sheet(&self) -> Option<&str> {
        if let Reader::Xlsx(xlsx) = &self.format { Some(xlsx.sheet()) } else { None }
    }

    /// Returns the next row that is not blank.
    ///
    /// # Errors
    /// If the rest cannot be read or exceeds the budget.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
        match self.rows.pop_front() {
            Some(row) => Ok(Some(row)),
            None => self.format.next(budget),
        }
    }
}

impl Reader {
    fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
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
