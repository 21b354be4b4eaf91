//! Reads the files of a batch again once it is known which rows have problems: for their cells, or for the sheet with
//! the column of problems (docs/api/batches.md, "A sheet with its problems").

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::sync::Arc;

use common::Error;
use serde::Serialize;
use tables::{Budget, Cell, RowWriter, SHEET_NAME, TableCell, TableError, TableLimits, TableRow, XlsxWriter};
use utoipa::ToSchema;

use super::faults::Faults;
use super::header::{HeaderRow, PROBLEMS};
use super::options::{CellOptions, DecimalSeparator, SheetFormat};
use super::table::{FileRow, Layout, Table};
use super::upload::{disk_error, table_error};
use crate::loads::members::Kind;

/// The number of rows that are written at a time.
const ROWS_PER_WRITE: usize = 1_000;
/// The most blank lines of CSV in a row, for rows that a sheet leaves out.
const MAX_GAP: u64 = 1_000;
/// The problems of a row behind those that are listed.
const NOT_LISTED: &str = "has problems that are not listed: mend the rows above first";

/// Replaces a cell that cannot be read and has no text, so that a batch refuses the row again until it is mended.
const UNREADABLE: &str = "#N/A";

/// The files of a batch, also those that cannot be read to their end.
pub(crate) struct SecondReading {
    pub(crate) files: Vec<ReadFile>,
    pub(crate) layout: Layout,
    pub(crate) limits: TableLimits,
}

/// A file that was read once.
pub(crate) struct ReadFile {
    pub(crate) file: File,
    /// Its name if there are several.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) options: CellOptions,
}

/// The cells of a row.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RowCells {
    /// The number of the row, from 0 over all files.
    row: usize,
    /// The line of the file, or the row of the sheet.
    line: u64,
    /// The name of the file if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    file: Option<Arc<str>>,
    /// The texts of the cells that are not empty, after corrections.
    cells: BTreeMap<&'static str, String>,
}

impl SecondReading {
    /// Returns the cells of these rows. Blocks the thread.
    ///
    /// # Errors
    /// 503 if the temporary folder cannot be read.
    pub(crate) fn cells(&self, rows: &BTreeSet<usize>) -> Result<Vec<RowCells>, Error> {
        let (mut found, mut count, mut budget) = (Vec::new(), 0, Budget::new(self.limits));
        for ReadFile { file, name, .. } in &self.files {
            if found.len() == rows.len() {
                break;
            }
            let table = Table::open(file, &self.layout, false, &mut budget);
            let Some(mut table) = unless_damaged(table)? else { continue };
            while let Some(row) = unless_damaged(table.next(&mut count, &mut budget))?.flatten() {
                let FileRow::Data(index, mut row) = row else { continue };
                if !rows.contains(&index) {
                    continue;
                }
                table.correct(index, &mut row.cells);
                let cells = named_texts(&table.header, &row.cells);
                found.push(RowCells { row: index, line: row.line, file: name.clone(), cells });
                if found.len() == rows.len() {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Returns the sheet of the first file with the problems of its rows. Blocks the thread.
    ///
    /// # Errors
    /// 503 if the file cannot be read any more.
    pub(crate) fn sheet(&self, format: SheetFormat, faults: &Faults) -> Result<Vec<u8>, Error> {
        let Some(read) = self.files.first() else { return Ok(Vec::new()) };
        let (mut count, mut budget) = (0, Budget::new(self.limits));
        let table = Table::open(&read.file, &self.layout, true, &mut budget);
        let mut table = table.map_err(|error| table_error(error, None))?;
        let messages = messages(&table.header, faults);
        let is_workbook = table.sheet().is_some();
        let options = read.options;
        let mut sheet = SheetWriter::new(format, table.sheet().unwrap_or(SHEET_NAME))?;
        while let Some(row) = next(&mut table, &mut count, &mut budget)? {
            let (problems, row) = match row {
                FileRow::Header(row) => (PROBLEMS.to_owned(), row),
                FileRow::Other(row) => (String::new(), row),
                FileRow::Data(index, mut row) => {
                    table.correct(index, &mut row.cells);
                    let listed = messages.get(&index).cloned();
                    let unlisted = faults.has_row(index).then(|| NOT_LISTED.to_owned());
                    (listed.or(unlisted).unwrap_or_default(), row)
                }
            };
            if is_workbook {
                sheet.skip_to(row.line);
            }
            let is_header = problems == PROBLEMS;
            sheet.row(&table.header, &problems, &row, is_header, (options, format))?;
        }
        sheet.finish()
    }
}

fn next(table: &mut Table<'_>, count: &mut usize, budget: &mut Budget) -> Result<Option<FileRow>, Error> {
    table.next(count, budget).map_err(|error| table_error(error, None))
}

/// Returns `None` where a file cannot be read on, which the first reading has reported.
fn unless_damaged<T>(read: Result<T, TableError>) -> Result<Option<T>, Error> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error @ TableError::Disk(_)) => Err(table_error(error, None)),
        Err(_) => Ok(None),
    }
}

fn named_texts(header: &HeaderRow, cells: &[Cell]) -> BTreeMap<&'static str, String> {
    let columns = header.all_columns();
    let texts = columns.filter_map(|(position, column)| {
        let text = text_of(cells.get(position)?, header.kind(position));
        let text = text.trim();
        (!text.is_empty()).then(|| (column, text.to_owned()))
    });
    texts.collect()
}

/// Returns what is wrong with each row, with the headings of the cells.
fn messages(header: &HeaderRow, faults: &Faults) -> HashMap<usize, String> {
    let mut messages: HashMap<usize, String> = HashMap::new();
    for (row, error) in faults.of_rows() {
        let column = error.path.split_once("].").map(|(_, column)| column).unwrap_or_default();
        let column = column.split(['[', '.']).next().unwrap_or_default();
        let text = messages.entry(row).or_default();
        if !text.is_empty() {
            text.push_str("; ");
        }
        if !column.is_empty() {
            text.push_str(header.heading_of(column));
            text.push_str(": ");
        }
        text.push_str(&error.message);
    }
    messages
}

/// Writes a sheet.
struct SheetWriter {
    /// `None` for CSV.
    book: Option<Box<XlsxWriter>>,
    rows: RowWriter,
    /// The number of rows that are not written.
    pending: usize,
    /// The last line of the sheet.
    line: u64,
    bytes: Vec<u8>,
}

impl SheetWriter {
    fn new(format: SheetFormat, name: &str) -> Result<Self, Error> {
        let book = match format {
            SheetFormat::Csv => None,
            SheetFormat::Xlsx => Some(Box::new(XlsxWriter::empty(name).map_err(disk_error)?)),
        };
        let rows = book.as_ref().map_or_else(RowWriter::csv, |book| RowWriter::sheet(book.next_rows()));
        Ok(Self { book, rows, pending: 0, line: 0, bytes: Vec::new() })
    }

    /// Leaves out the rows before this line of the sheet.
    fn skip_to(&mut self, line: u64) {
        if self.book.is_some() {
            self.rows.skip_to(u32::try_from(line).unwrap_or_default());
        } else {
            let gap = line.saturating_sub(self.line + 1).min(MAX_GAP);
            (0..gap).for_each(|_| self.rows.row([]));
        }
        self.line = line;
    }

    fn row(
        &mut self,
        header: &HeaderRow,
        problems: &str,
        row: &TableRow,
        is_header: bool,
        (options, format): (CellOptions, SheetFormat),
    ) -> Result<(), Error> {
        let appended: Vec<Cell> = if is_header {
            header.appended().map(|column| Cell::Text(column.to_owned())).collect()
        } else {
            Vec::new()
        };
        let filled = row.cells.iter().take(tables::MAX_COLUMNS).rposition(|cell| !cell.is_blank());
        let width = header.columns().count().max(filled.map_or(0, |last| last + 1));
        let in_file = (0..width).filter(|position| !header.is_problems(*position));
        let behind = (0..header.appended().count()).map(|at| tables::MAX_COLUMNS + at);
        let empty = Cell::Text(String::new());
        let is_faulty = !is_header && !problems.is_empty();
        let cell = |position: usize| {
            let cell = match position.checked_sub(tables::MAX_COLUMNS) {
                Some(at) if is_header => appended.get(at),
                _ => row.cells.get(position),
            };
            if let Some(cell @ (Cell::Covered(_) | Cell::Invalid(..))) = cell
                && is_faulty
                && header.kind(position).is_some()
                && cell.to_text().trim().is_empty()
            {
                return TableCell::Raw(UNREADABLE.into());
            }
            to_cell(cell.unwrap_or(&empty), header.kind(position), options, format)
        };
        // Cells of a line borrow from `empty` and `appended`, so they are written at once.
        let cells: Vec<_> =
            std::iter::once(TableCell::Raw(problems.into())).chain(in_file.chain(behind).map(cell)).collect();
        self.rows.row(cells);
        self.pending += 1;
        if self.pending == ROWS_PER_WRITE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.pending = 0;
        match &mut self.book {
            None => {
                let rows = std::mem::replace(&mut self.rows, RowWriter::csv());
                self.bytes.extend(rows.into_csv());
            }
            Some(book) => {
                let rows = std::mem::replace(&mut self.rows, RowWriter::csv());
                book.write(rows.into_sheet()).map_err(disk_error)?;
                self.rows = RowWriter::sheet(book.next_rows());
                self.bytes.extend(book.take_bytes());
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>, Error> {
        self.flush()?;
        if let Some(book) = self.book {
            self.bytes.extend(book.finish().map_err(disk_error)?);
        }
        Ok(self.bytes)
    }
}

/// Returns a cell as it was in the file.
fn to_cell(cell: &Cell, kind: Option<Kind>, options: CellOptions, format: SheetFormat) -> TableCell<'_> {
    match (cell, format) {
        (Cell::Date(date), SheetFormat::Xlsx) if date.len() == 10 => {
            TableCell::Day(format!("{date}T00:00:00.000Z").into())
        }
        (Cell::Date(date), SheetFormat::Xlsx) => TableCell::Instant(date.into()),
        (Cell::NoDate(_, _, Some((serial, format))), SheetFormat::Xlsx) => {
            TableCell::Formatted(*serial, format, Cow::Borrowed(""))
        }
        (Cell::Number(number), SheetFormat::Xlsx) => match &number.format {
            None => TableCell::Number(number.value.to_string().into()),
            Some(format) => TableCell::Formatted(number.value, format, Cow::Borrowed("")),
        },
        (Cell::Number(_), SheetFormat::Csv)
            if kind == Some(Kind::Number) && options.decimal == DecimalSeparator::Comma =>
        {
            TableCell::Raw(text_of(cell, kind).replace('.', ",").into())
        }
        _ => TableCell::Raw(text_of(cell, kind)),
    }
}

/// Returns the text of a cell; in a column of numbers, the number that a batch stores.
fn text_of(cell: &Cell, kind: Option<Kind>) -> Cow<'_, str> {
    match cell {
        Cell::Number(number) if kind == Some(Kind::Number) => match number.to_number() {
            Ok(value) => value.to_string().into(),
            Err(_) => cell.to_text(),
        },
        _ => cell.to_text(),
    }
}
