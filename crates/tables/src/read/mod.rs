//! Reads CSV and XLSX files row by row, within the limits of a batch.

mod budget;
mod cell;
mod csv;
mod error;
mod format;
mod number_format;
#[cfg(test)]
mod tests;
mod xlsx;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Seek;

pub use budget::{Budget, TableLimits};
pub use cell::{Cell, Formulas, Number, SPREADSHEET_ERROR, TableRow};
use csv::CsvReader;
pub use error::TableError;
use format::FileFormat;
use serde::{Deserialize, Serialize};
use xlsx::XlsxReader;
pub use xlsx::cell_name;

/// What is wrong with a file or a cell that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It has a value of another type.
    Type,
    /// It is not written as it must be.
    Format,
    /// It has too many or too few items.
    Length,
}

/// The encoding of CSV without a byte order mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextEncoding {
    /// UTF-8.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// The encoding of spreadsheet applications on Windows in western Europe.
    #[serde(rename = "windows-1252")]
    Windows1252,
}

/// A reader for the rows of a table, from its header row on.
pub struct TableReader {
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
    pub fn open(
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
        let rows = read_head(|| format.next(budget), &rank)?.rows;
        Ok(Self { format, rows })
    }

    /// Returns the name of the sheet of a workbook.
    pub fn sheet(&self) -> Option<&str> {
        if let Reader::Xlsx(xlsx) = &self.format { Some(xlsx.sheet()) } else { None }
    }

    /// Returns the next row that is not blank.
    ///
    /// # Errors
    /// If the rest cannot be read or exceeds the budget.
    pub fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
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

/// The header row is one of the first rows of a table.
const HEADER_ROWS: u64 = 20;

/// How much a row looks like the header row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeaderRank {
    /// It names fewer than two columns.
    #[default]
    None,
    /// It names several columns.
    Some,
    /// It names all columns that every table needs.
    All,
}

/// The first rows of a table, from the header row on. Without a header row, from the first row on.
#[derive(Debug, Default)]
pub(crate) struct TableHead {
    pub rank: HeaderRank,
    pub rows: VecDeque<TableRow>,
}

/// Reads the first rows up to one that names all columns. `next` returns the next row that is not blank.
///
/// # Errors
/// Those of `next`.
fn read_head(
    mut next: impl FnMut() -> Result<Option<TableRow>, TableError>,
    rank: &dyn Fn(&[Cell]) -> HeaderRank,
) -> Result<TableHead, TableError> {
    let (mut head, mut header) = (TableHead::default(), 0);
    while head.rank != HeaderRank::All {
        let Some(row) = next()? else { break };
        let is_late = row.line > HEADER_ROWS && !head.rows.is_empty();
        let found = if is_late { HeaderRank::None } else { rank(&row.cells) };
        if found > head.rank {
            (head.rank, header) = (found, head.rows.len());
        }
        head.rows.push_back(row);
        if is_late || head.rows.len() as u64 == HEADER_ROWS {
            break;
        }
    }
    head.rows.drain(..header);
    Ok(head)
}
