//! Reads the first worksheet of an XLSX workbook (ECMA-376) row by row.
//!
//! Existing libraries trust what a file announces: they allocate memory for the announced number of strings, or copy a
//! font for each style. This reader unpacks only the parts that it needs, each within its limit. It holds only the
//! shared strings and the styles of numbers in memory.

mod archive;
mod cell;
mod number_styles;
mod workbook;
mod xml;

use std::fs::File;

use common::validation::Code;
use quick_xml::events::{BytesStart, Event};

use super::budget::{Budget, MAX_COLUMNS};
use super::cell::{Cell, TableRow};
use super::error::TableError;
use cell::{CellType, parse_column, parse_reference};
use workbook::Workbook;
use xml::{TextCollector, XmlReader, attribute, attributes, parse_number};

/// A reader for the rows of the first worksheet.
pub(crate) struct XlsxReader {
    sheet: XmlReader,
    workbook: Workbook,
    /// The number of the last row.
    line: u64,
    /// All rows were read.
    done: bool,
}

impl XlsxReader {
    /// Reads the workbook up to the first row.
    pub(crate) fn open(file: File, budget: &mut Budget) -> Result<Self, TableError> {
        let (workbook, mut sheet) = Workbook::open(file, budget)?;
        let max_rows = budget.limits().rows as u64;
        loop {
            match sheet.next(budget)? {
                Event::Start(e) if e.local_name().as_ref() == b"dimension" => check_dimension(&e, max_rows)?,
                Event::Start(e) if e.local_name().as_ref() == b"sheetData" => break,
                Event::Eof => {
                    return Err(TableError::unreadable("has a first sheet without cells", None));
                }
                _ => {}
            }
        }
        Ok(Self { sheet, workbook, line: 0, done: false })
    }

    /// Returns the next row, which may be blank, without trailing blank cells.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
        let (mut cells, mut next_column): (Vec<Cell>, usize) = (Vec::new(), 0);
        while !self.done {
            match self.sheet.next(budget)? {
                Event::Start(e) if e.local_name().as_ref() == b"row" => {
                    let number = attribute(&e, b"r").and_then(|value| parse_number(&value));
                    self.line = number.unwrap_or(self.line.saturating_add(1));
                }
                Event::Start(e) if e.local_name().as_ref() == b"c" => {
                    budget.take_cells(1)?;
                    let (mut column, mut style, mut cell_type) = (Some(next_column), None, CellType::Number);
                    for (name, value) in attributes(&e) {
                        match name {
                            b"r" => column = parse_column(&value),
                            b"s" => style = parse_number(&value),
                            b"t" => cell_type = CellType::parse(&value),
                            _ => {}
                        }
                    }
                    let cell = match read_value(&mut self.sheet, cell_type, budget)? {
                        Some(value) => self.workbook.cell(cell_type, style, value)?,
                        None => Cell::Invalid(
                            Code::Type,
                            "is a formula without a result: save the file in a spreadsheet application",
                        ),
                    };
                    budget.take_text(cell.text_bytes())?;
                    next_column = column.map_or(next_column, |column| column.saturating_add(1));
                    if cell.is_blank() {
                        continue;
                    }
                    let Some(column) = column.filter(|column| *column < MAX_COLUMNS) else {
                        return Err(TableError::too_many("columns", MAX_COLUMNS).with("line", self.line));
                    };
                    while cells.len() <= column {
                        cells.push(Cell::Text(String::new()));
                    }
                    cells[column] = cell;
                }
                Event::End(e) if e.local_name().as_ref() == b"row" => {
                    return Ok(Some(TableRow { line: self.line, cells }));
                }
                Event::End(e) if e.local_name().as_ref() == b"sheetData" => self.done = true,
                Event::Eof => return Err(TableError::unreadable("is truncated", Some(self.line))),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// Reads a cell up to its end. Returns its value or inline string, or `None` for a formula whose result was not stored.
fn read_value(
    sheet: &mut XmlReader,
    cell_type: CellType,
    budget: &mut Budget,
) -> Result<Option<String>, TableError> {
    let element: &[u8] = if cell_type == CellType::Inline { b"t" } else { b"v" };
    let (mut text, mut is_formula) = (TextCollector::new(element), false);
    loop {
        match sheet.next(budget)? {
            Event::End(e) if e.local_name().as_ref() == b"c" => {
                let has_value =
                    |text: &String| !is_formula || cell_type == CellType::FormulaText || !text.is_empty();
                return Ok(Some(text.take()).filter(has_value));
            }
            Event::Start(e) if e.local_name().as_ref() == b"f" => is_formula = true,
            Event::Eof => return Err(TableError::unreadable("is truncated", None)),
            event => text.add(&event)?,
        }
    }
}

/// Checks the size that the sheet announces, such as `A1:T50001`. Returns an error for an absurd area. A single
/// formatted cell far from the others is accepted.
fn check_dimension(e: &BytesStart<'_>, max_rows: u64) -> Result<(), TableError> {
    let last = attribute(e, b"ref").and_then(|value| parse_reference(value.rsplit(|b| *b == b':').next()?));
    let Some((column, row)) = last else { return Ok(()) };
    let area = row.saturating_mul((column as u64).saturating_add(1));
    if area > max_rows.saturating_add(1).saturating_mul(MAX_COLUMNS as u64) {
        let message = "must have fewer rows and columns: delete those that are empty too";
        return Err(TableError::refused(Code::Length, message).with("maximum", max_rows));
    }
    Ok(())
}
