//! Tables, read row by row: CSV and XLSX, told apart by their content, within bounds whatever is in the file.

mod csv;
mod fault;
#[cfg(test)]
mod tests;
mod xlsx;

use std::fs::File;
use std::io::{Read, Seek};

use common::validation::Code;

use csv::Csv;
pub use fault::TableError;
use xlsx::Xlsx;

/// No table has more columns.
const MAX_COLUMNS: usize = 256;
/// A text is cut off at so many bytes, which is more than any column takes.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// A batch may have this many blank rows at least, however few rows it may have.
const MIN_BLANK_ROWS: usize = 1_000;
/// Cells for each row that a batch may have, blank cells included: twice as many as there are columns.
const CELLS_PER_ROW: usize = 40;
/// XML events (tags and texts) for each cell that a batch may have. Spreadsheets write five to eight.
const EVENTS_PER_CELL: usize = 10;

/// What a table may have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub rows: usize,
    /// Of the file as it came. A sheet may unpack to five times as many, and its strings to twice: far more than the
    /// most rows take.
    pub bytes: usize,
}

/// What is left of the limits of a batch, whose files share them. Whatever is in a file, checking it takes no longer
/// than the largest batch of ordinary tables does.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    blank_rows: usize,
    cells: usize,
    events: usize,
    /// Bytes of all parts of workbooks, unpacked.
    unpacked_bytes: usize,
    /// Bytes of the texts of all cells: a short string may stand in many of them.
    text_bytes: usize,
}

impl Budget {
    /// The whole budget of a batch with these limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            blank_rows: Self::max_blank_rows(limits),
            cells: Self::max_cells(limits),
            events: Self::max_events(limits),
            unpacked_bytes: limits.bytes.saturating_mul(7),
            text_bytes: limits.bytes.saturating_mul(5),
        }
    }

    fn max_blank_rows(limits: Limits) -> usize {
        limits.rows.max(MIN_BLANK_ROWS)
    }

    fn max_cells(limits: Limits) -> usize {
        Self::max_blank_rows(limits).saturating_mul(CELLS_PER_ROW)
    }

    fn max_events(limits: Limits) -> usize {
        Self::max_cells(limits).saturating_mul(EVENTS_PER_CELL)
    }

    fn take_blank_row(&mut self) -> Result<(), TableError> {
        let too_many = || TableError::too_many("blank rows: delete them", Self::max_blank_rows(self.limits));
        self.blank_rows = self.blank_rows.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }

    fn take_cells(&mut self, count: usize) -> Result<(), TableError> {
        let too_many = || TableError::too_many("cells, blank cells included", Self::max_cells(self.limits));
        self.cells = self.cells.checked_sub(count).ok_or_else(too_many)?;
        Ok(())
    }

    fn take_event(&mut self) -> Result<(), TableError> {
        let too_many = || TableError::too_many("tags and texts in its XML", Self::max_events(self.limits));
        self.events = self.events.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }

    fn take_text(&mut self, bytes: usize) -> Result<(), TableError> {
        let too_large = TableError::TooLarge(self.limits.bytes.saturating_mul(5));
        self.text_bytes = self.text_bytes.checked_sub(bytes).ok_or(too_large)?;
        Ok(())
    }
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
    /// Bytes of its text.
    fn text_bytes(&self) -> usize {
        if let Self::Text(text) = self { text.len() } else { 0 }
    }

    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }
}

/// A table whose rows are being read.
pub enum TableReader {
    Csv(Csv),
    Xlsx(Box<Xlsx>),
}

impl TableReader {
    /// Opens a file; a sheet that says to have more rows than there may be is refused.
    ///
    /// # Errors
    /// If it is no table.
    pub fn open(mut file: File, budget: &mut Budget) -> Result<Self, TableError> {
        let mut head = Vec::new();
        file.rewind()?;
        (&file).take(4096).read_to_end(&mut head)?;
        file.rewind()?;
        if head.starts_with(b"PK\x03\x04") {
            return Ok(Self::Xlsx(Box::new(Xlsx::open(file, budget)?)));
        }
        let why = if head.starts_with(b"\xd0\xcf\x11\xe0") {
            "an old or encrypted workbook: save it as XLSX without a password, or as CSV"
        } else if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
            return Err(TableError::unreadable("is UTF-16: save it as CSV UTF-8", Some(1)));
        } else if head.contains(&0) {
            "something else"
        } else {
            return Ok(Self::Csv(Csv::new(file)?));
        };
        Err(TableError::refused(Code::Format, format!("must be CSV or XLSX; this is {why}")))
    }

    /// The next row that is not wholly blank.
    ///
    /// # Errors
    /// If the rest cannot be read, or the budget does not suffice for it.
    pub fn next(&mut self, budget: &mut Budget) -> Result<Option<Row>, TableError> {
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
