//! The rows of an uploaded file: which are data, their numbers, and their cells after corrections. A file is read again
//! with this where a first reading has to decide something or the rows are needed a second time, so that no rows are
//! held in memory.

use std::collections::VecDeque;
use std::fs::File;

use common::validation::ValidationErrors;
use tables::{Budget, Cell, HeaderRank, TableError, TableOptions, TableReader, TableRow, TextEncoding};

use super::corrections::Corrections;
use super::header::HeaderRow;
use super::headings::Headings;

/// What the form says about the tables of all files.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) headings: Headings,
    pub(crate) corrections: Corrections,
    /// The worksheet to read.
    pub(crate) sheet: Option<String>,
    /// The encoding of CSV. `None`: it is detected.
    pub(crate) encoding: Option<TextEncoding>,
    /// Rows without a party get an organiser, so that the columns of the parties are optional.
    pub(crate) has_organiser: bool,
}

impl Layout {
    /// Returns how much a row looks like the header row.
    pub(crate) fn rank(&self, cells: &[Cell]) -> HeaderRank {
        HeaderRow::rank(cells, &self.headings)
    }
}

/// A table that is being read.
pub(crate) struct Table<'a> {
    layout: &'a Layout,
    reader: TableReader,
    pub(crate) header: HeaderRow,
    /// What is wrong with the header row.
    pub(crate) header_errors: ValidationErrors,
    /// Rows that were read before the first row of data.
    before: VecDeque<FileRow>,
}

/// A row of a file.
pub(crate) enum FileRow {
    /// The header row. Only if all rows are kept.
    Header(TableRow),
    /// A row of data with its number over all files.
    Data(usize, TableRow),
    /// Any other: above the header row, blank with or without formulas, or the sample of the template. Only if all rows
    /// are kept.
    Other(TableRow),
}

impl<'a> Table<'a> {
    /// Opens a file and reads its header row. `keeps_all`: rows that are no data are returned too.
    ///
    /// # Errors
    /// If the file is not a table, lacks the worksheet, or exceeds the limits.
    pub(crate) fn open(
        file: &File,
        layout: &'a Layout,
        keeps_all: bool,
        budget: &mut Budget,
    ) -> Result<Self, TableError> {
        let file = file.try_clone().map_err(TableError::Disk)?;
        let options = TableOptions { encoding: layout.encoding, sheet: layout.sheet.as_deref(), keeps_all };
        let mut reader = TableReader::open(file, options, |cells| layout.rank(cells), budget)?;
        let (mut before, mut first) = (VecDeque::new(), TableRow { line: 1, ..TableRow::default() });
        while let Some(row) = reader.next(budget)? {
            if row.line >= reader.header_line() {
                first = row;
                break;
            }
            before.push_back(FileRow::Other(row));
        }
        let mut header_errors = ValidationErrors::default();
        let header = HeaderRow::parse(
            &first.cells,
            &layout.headings,
            (layout.corrections.columns(), layout.has_organiser),
            &mut header_errors,
        );
        if keeps_all {
            before.push_back(FileRow::Header(first));
        }
        Ok(Self { layout, reader, header, header_errors, before })
    }

    /// Returns what the form says about the table.
    pub(crate) fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// Returns the reader of the file.
    pub(crate) fn reader(&mut self) -> &mut TableReader {
        &mut self.reader
    }

    /// Returns the line of the header row.
    pub(crate) fn header_line(&self) -> u64 {
        self.reader.header_line()
    }

    /// Returns the name of the sheet of a workbook.
    pub(crate) fn sheet(&self) -> Option<&str> {
        self.reader.sheet()
    }

    /// Returns the next row, as it is in the file unless only formulas are in it. `rows` is the number of rows of data
    /// so far.
    ///
    /// # Errors
    /// If the rest cannot be read or exceeds the budget.
    pub(crate) fn next(
        &mut self,
        rows: &mut usize,
        budget: &mut Budget,
    ) -> Result<Option<FileRow>, TableError> {
        if let Some(row) = self.before.pop_front() {
            return Ok(Some(row));
        }
        let Some(mut row) = self.reader.next(budget)? else { return Ok(None) };
        if row.is_blank() {
            return Ok(Some(FileRow::Other(row)));
        }
        let is_filled_down = self.header.is_filled_down(&row);
        if is_filled_down {
            // In a sheet without its formulas, the row would be data.
            self.header.empty(&mut row.cells);
        }
        if is_filled_down || self.header.is_sample(&row.cells) {
            budget.take_blank_row()?;
            return Ok(Some(FileRow::Other(row)));
        }
        *rows += 1;
        Ok(Some(FileRow::Data(*rows - 1, row)))
    }

    /// Replaces the corrected cells of a row.
    pub(crate) fn correct(&self, row: usize, cells: &mut Vec<Cell>) {
        self.layout.corrections.apply(&self.header, row, cells);
    }
}
