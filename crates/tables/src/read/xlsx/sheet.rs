//! Reads the rows of a worksheet.

use std::fs::File;
use std::io::Seek;

use crate::read::Fault;
use quick_xml::events::Event;

use super::cell::{CellType, parse_column};
use super::merged::{MergedCells, ROWS_OUT_OF_ORDER};
use super::workbook::Workbook;
use super::xml::{Namespace, TextCollector, XmlReader, attributes, parse_number};
use crate::read::budget::{Budget, MAX_COLUMNS};
use crate::read::cell::{Cell, Formulas, TableRow};
use crate::read::error::TableError;
use crate::read::format::contains;

/// What is wrong with a sheet that has no place for rows.
pub(super) const NO_CELLS: &str = "has a sheet without cells";

/// A reader for the rows of a worksheet.
pub(crate) struct SheetRows {
    xml: XmlReader,
    merged: MergedCells,
    /// The number of the last row.
    line: u64,
    /// The number of the last row with content.
    filled_line: Option<u64>,
    is_hidden: bool,
    /// All rows were read.
    done: bool,
}

/// What is in a cell.
struct Content {
    text: String,
    is_formula: bool,
    /// False for a formula whose result was not stored.
    has_result: bool,
}

impl SheetRows {
    /// Reads an unpacked worksheet up to its first row.
    ///
    /// # Errors
    /// If there are no rows, or too many merged cells.
    pub(crate) fn open(mut part: File, budget: &mut Budget) -> Result<Self, TableError> {
        // Merged cells and `sheetCalcPr` stand after the rows. Few sheets have any.
        let has_merged = contains(&mut part, b"mergeCell")? || contains(&mut part, b"sheetCalcPr")?;
        part.rewind().map_err(TableError::Disk)?;
        if !has_merged {
            return Self::open_start(part, budget);
        }
        let mut xml = XmlReader::new(part);
        let merged = MergedCells::read(&mut xml, budget)?;
        Ok(Self { merged, ..Self::open_start(xml.into_part()?, budget)? })
    }

    /// Opens a worksheet whose end may be missing, and with it the merged cells.
    ///
    /// # Errors
    /// If there are no rows.
    pub(crate) fn open_start(part: File, budget: &mut Budget) -> Result<Self, TableError> {
        let mut xml = XmlReader::new(part);
        loop {
            match xml.next(budget)? {
                (Namespace::Main, Event::Start(e)) if e.local_name().as_ref() == b"sheetData" => break,
                (_, Event::Eof) => return Err(TableError::unreadable(NO_CELLS, None)),
                _ => {}
            }
        }
        let merged = MergedCells::default();
        Ok(Self { xml, merged, line: 0, filled_line: None, is_hidden: false, done: false })
    }

    /// Returns the next row, which may be blank, without trailing blank cells.
    pub(crate) fn next(
        &mut self,
        workbook: &Workbook,
        budget: &mut Budget,
    ) -> Result<Option<TableRow>, TableError> {
        let (mut cells, mut next_column, mut formulas) = (Vec::<Cell>::new(), 0_usize, Formulas::None);
        while !self.done {
            match self.xml.next(budget)? {
                (Namespace::Main, Event::Start(e)) if e.local_name().as_ref() == b"row" => {
                    self.line = self.line.saturating_add(1);
                    self.is_hidden = false;
                    for (name, value) in attributes(&e) {
                        match name {
                            b"r" => self.line = parse_number(&value).unwrap_or(self.line),
                            b"hidden" => self.is_hidden |= matches!(&*value, b"1" | b"true"),
                            b"ht" => self.is_hidden |= matches!(&*value, b"0" | b"0.0"),
                            _ => {}
                        }
                    }
                }
                (Namespace::Main, Event::Start(e)) if e.local_name().as_ref() == b"c" => {
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
                    let content = read_content(&mut self.xml, cell_type, budget)?;
                    let is_formula = content.is_formula;
                    let is_recalculated = workbook.is_recalculated() || self.merged.is_recalculated;
                    let cell = if content.has_result && !(is_formula && is_recalculated) {
                        workbook.cell(cell_type, style, content.text, is_formula)?
                    } else {
                        let message = "is a formula without a result: open the file in a spreadsheet application and save it, or replace the formula by its value";
                        Cell::Invalid(Fault::Type, message, String::new())
                    };
                    budget.take_text(cell.text_bytes())?;
                    next_column = column.map_or(next_column, |column| column.saturating_add(1));
                    if is_formula {
                        let is_nothing = match &cell {
                            Cell::Number(number) => number.value.abs() == 0.0,
                            cell => cell.is_blank(),
                        };
                        formulas = match (formulas, is_nothing) {
                            (Formulas::None | Formulas::Nothing, true) => Formulas::Nothing,
                            _ => Formulas::Value,
                        };
                    }
                    if cell.is_blank() {
                        continue;
                    }
                    let Some(column) = column.filter(|column| *column < MAX_COLUMNS) else {
                        return Err(TableError::too_many("columns", MAX_COLUMNS).with("line", self.line));
                    };
                    while cells.len() <= column {
                        cells.push(Cell::Text(String::new()));
                    }
                    if std::mem::replace(&mut cells[column], cell) != Cell::Text(String::new()) {
                        let message =
                            "has two cells at one place: save it again in a spreadsheet application";
                        return Err(TableError::unreadable(message, Some(self.line)));
                    }
                }
                (Namespace::Main, Event::End(e)) if e.local_name().as_ref() == b"row" => {
                    if !cells.is_empty() {
                        if self.filled_line.is_some_and(|last| self.line <= last) {
                            return Err(TableError::unreadable(ROWS_OUT_OF_ORDER, Some(self.line)));
                        }
                        self.filled_line = Some(self.line);
                    }
                    let mut row = TableRow { line: self.line, cells, is_hidden: self.is_hidden, formulas };
                    self.merged.mark(&mut row)?;
                    return Ok(Some(row));
                }
                (Namespace::Main, Event::End(e)) if e.local_name().as_ref() == b"sheetData" => {
                    self.done = true;
                }
                (_, Event::Eof) => return Err(TableError::unreadable("is truncated", Some(self.line))),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// Reads a cell up to its end: its value or inline string.
fn read_content(
    sheet: &mut XmlReader,
    cell_type: CellType,
    budget: &mut Budget,
) -> Result<Content, TableError> {
    let element: &[u8] = if cell_type == CellType::Inline { b"t" } else { b"v" };
    let (mut text, mut is_formula, mut is_extension) = (TextCollector::new(element), false, false);
    loop {
        match sheet.next(budget)? {
            // Extensions of a cell may have values of their own.
            (Namespace::Main, Event::Start(e)) if e.local_name().as_ref() == b"extLst" => is_extension = true,
            (Namespace::Main, Event::End(e)) if e.local_name().as_ref() == b"extLst" => is_extension = false,
            (_, Event::Eof) => return Err(TableError::unreadable("is truncated", None)),
            _ if is_extension => {}
            (Namespace::Main, Event::End(e)) if e.local_name().as_ref() == b"c" => {
                // A formula that gives the empty text has an empty value.
                let has_value =
                    if cell_type == CellType::FormulaText { text.found() } else { !text.is_empty() };
                let has_result = !is_formula || has_value;
                return Ok(Content { text: text.take(), is_formula, has_result });
            }
            (Namespace::Main, Event::Start(e)) if e.local_name().as_ref() == b"f" => is_formula = true,
            (namespace, event) => text.add(namespace, &event)?,
        }
    }
}
