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

pub use budget::{Budget, MAX_COLUMNS, TableLimits};
pub use cell::{Cell, Formulas, Number, SPREADSHEET_ERROR, TableRow};
use csv::CsvReader;
pub use error::TableError;
use format::FileFormat;
pub use number_format::NumberFormat;
use serde::{Deserialize, Serialize};
use xlsx::XlsxReader;
pub use xlsx::{SheetSummary, cell_name};

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

/// How a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions<'a> {
    /// The encoding of CSV without a byte order mark. `None`: UTF-8 if the bytes are valid, else Windows-1252.
    pub encoding: Option<TextEncoding>,
    /// The worksheet of a workbook to read, in any case and also if it is hidden. `None`: the first visible one with a
    /// header row.
    pub sheet: Option<&'a str>,
    /// Blank rows, and rows before the header row, are read too.
    pub keeps_all: bool,
}

/// A reader for the rows of a table, from its header row on.
pub struct TableReader {
    format: Reader,
    /// Rows that were read ahead.
    rows: VecDeque<TableRow>,
    keeps_all: bool,
    /// The line of the header row.
    header_line: u64,
    /// The number of rows with data below the header row that were read.
    data_rows: usize,
}

enum Reader {
    Csv(CsvReader),
    Xlsx(Box<XlsxReader>),
}

impl TableReader {
    /// Opens a file. Detects the format from the content. `rank` tells header rows.
    ///
    /// # Errors
    /// If the file is not a table, lacks the worksheet, or exceeds the limits.
    pub fn open(
        mut file: File,
        options: TableOptions<'_>,
        rank: impl Fn(&[Cell]) -> HeaderRank,
        budget: &mut Budget,
    ) -> Result<Self, TableError> {
        let format = FileFormat::detect(&mut file)?;
        file.rewind().map_err(TableError::Disk)?;
        let mut format = match format {
            FileFormat::Archive => {
                Reader::Xlsx(Box::new(XlsxReader::open(file, options.sheet, &rank, budget)?))
            }
            FileFormat::Csv => Reader::Csv(CsvReader::new(file, options.encoding)?),
        };
        let TableHead { header, mut rows, .. } = read_head(|| format.next(budget), &rank)?;
        let header_line = rows.get(header).map_or(1, |row| row.line);
        if !options.keeps_all {
            rows.retain(|row| row.line >= header_line && !row.is_blank());
        }
        Ok(Self { format, rows, keeps_all: options.keeps_all, header_line, data_rows: 0 })
    }

    /// Returns the name of the sheet of a workbook.
    pub fn sheet(&self) -> Option<&str> {
        if let Reader::Xlsx(xlsx) = &self.format { Some(xlsx.sheet()) } else { None }
    }

    /// Returns the worksheets of a workbook, and how many rows with data they have below their header rows. The rows of
    /// the sheet that is read are counted when they are read. The budget is for the other sheets.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sheets(
        &mut self,
        rank: &dyn Fn(&[Cell]) -> HeaderRank,
        budget: &mut Budget,
    ) -> Result<Vec<SheetSummary>, TableError> {
        match &mut self.format {
            Reader::Xlsx(xlsx) => xlsx.summarize(self.data_rows, rank, budget),
            Reader::Csv(_) => Ok(Vec::new()),
        }
    }

    /// Returns the encoding of CSV.
    pub fn encoding(&self) -> Option<TextEncoding> {
        if let Reader::Csv(csv) = &self.format { Some(csv.encoding()) } else { None }
    }

    /// Returns the delimiter of CSV.
    pub fn delimiter(&self) -> Option<char> {
        if let Reader::Csv(csv) = &self.format { Some(csv.delimiter()) } else { None }
    }

    /// Returns the line of the header row.
    pub fn header_line(&self) -> u64 {
        self.header_line
    }

    /// Returns the next row, unless all rows are kept one that is not blank.
    ///
    /// # Errors
    /// If the rest cannot be read or exceeds the budget.
    pub fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
        let row = loop {
            let row = match self.rows.pop_front() {
                Some(row) => Some(row),
                None => self.format.next(budget)?,
            };
            match row {
                Some(row) if row.is_blank() && !self.keeps_all => {}
                row => break row,
            }
        };
        let is_data = row.as_ref().is_some_and(|row| row.line > self.header_line && !row.is_blank());
        self.data_rows += usize::from(is_data);
        Ok(row)
    }
}

impl Reader {
    /// Returns the next row, which may be blank.
    fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
        let row = match self {
            Self::Csv(csv) => csv.next(budget)?,
            Self::Xlsx(xlsx) => xlsx.next(budget)?,
        };
        if row.as_ref().is_some_and(TableRow::is_blank) {
            budget.take_blank_row()?;
        }
        Ok(row)
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

/// The first rows of a table.
#[derive(Debug, Default)]
pub(crate) struct TableHead {
    pub rank: HeaderRank,
    /// The index of the header row. Without one, of the first row with several cells, because a title has one cell, or
    /// of the first row that is not blank.
    pub header: usize,
    pub rows: VecDeque<TableRow>,
}

fn has_several_cells(row: &TableRow) -> bool {
    row.cells.iter().filter(|cell| !cell.is_blank()).count() > 1
}

/// Reads the first rows up to one that names all columns. `next` returns the next row, which may be blank.
///
/// # Errors
/// Those of `next`.
fn read_head(
    mut next: impl FnMut() -> Result<Option<TableRow>, TableError>,
    rank: &dyn Fn(&[Cell]) -> HeaderRank,
) -> Result<TableHead, TableError> {
    let mut head = TableHead::default();
    let (mut filled, mut has_several) = (0, false);
    while head.rank != HeaderRank::All {
        let Some(row) = next()? else { break };
        if row.is_blank() {
            head.rows.push_back(row);
            continue;
        }
        let is_late = row.line > HEADER_ROWS && filled > 0;
        let found = if is_late { HeaderRank::None } else { rank(&row.cells) };
        let is_below_title = !has_several && !is_late && has_several_cells(&row);
        if found > head.rank || filled == 0 || (head.rank == HeaderRank::None && is_below_title) {
            (head.rank, head.header) = (found, head.rows.len());
            has_several = has_several_cells(&row);
        }
        head.rows.push_back(row);
        filled += 1;
        if is_late || filled == HEADER_ROWS {
            break;
        }
    }
    Ok(head)
}
