//! XLSX: the first sheet of a workbook, row by row (ECMA-376). Read here and not by a library, since those that there
//! are believe what a file says of itself: memory for as many strings as it announces, a copy of a font for each
//! style. Of the parts only those that are needed are unpacked, each within its limit, and nothing is kept of them but
//! the shared strings and which number formats are dates.

mod archive;
mod cell;
mod styles;
mod workbook;
mod xml;

use std::fs::File;

use common::validation::Code;
use quick_xml::events::{BytesStart, Event};

use super::{Budget, Cell, MAX_COLUMNS, Row, TableError};
use cell::{Kind, column_of, reference};
use workbook::Workbook;
use xml::{Text, Xml, attributes};

pub struct Xlsx {
    sheet: Xml,
    workbook: Workbook,
    /// Of the row that was read last.
    line: u64,
    /// All rows were read.
    done: bool,
}

impl Xlsx {
    pub fn open(file: File, budget: &mut Budget) -> Result<Self, TableError> {
        let (workbook, mut sheet) = Workbook::open(file, budget)?;
        let max_rows = budget.limits.rows as u64;
        loop {
            match sheet.next(budget)? {
                Event::Start(e) if e.local_name().as_ref() == b"dimension" => {
                    dimension(&e, max_rows)?;
                }
                Event::Start(e) if e.local_name().as_ref() == b"sheetData" => break,
                Event::Eof => return Err(TableError::unreadable("has no sheet with cells first", None)),
                _ => {}
            }
        }
        Ok(Self { sheet, workbook, line: 0, done: false })
    }

    /// The next row, blank or not. Blank cells are left out behind the last other one.
    pub fn next(&mut self, budget: &mut Budget) -> Result<Option<Row>, TableError> {
        let (mut cells, mut next_column): (Vec<Cell>, usize) = (Vec::new(), 0);
        while !self.done {
            match self.sheet.next(budget)? {
                Event::Start(e) if e.local_name().as_ref() == b"row" => {
                    let number = attributes(&e).find(|(name, _)| *name == b"r").and_then(|(_, v)| number(&v));
                    self.line = number.unwrap_or(self.line.saturating_add(1));
                }
                Event::Start(e) if e.local_name().as_ref() == b"c" => {
                    budget.take_cells(1)?;
                    let (mut column, mut style, mut kind) = (Some(next_column), None, Kind::Number);
                    for (name, value) in attributes(&e) {
                        match name {
                            b"r" => column = column_of(&value),
                            b"s" => style = number(&value),
                            b"t" => kind = Kind::of(&value),
                            _ => {}
                        }
                    }
                    let text = text(&mut self.sheet, kind, budget)?;
                    let cell = match text {
                        Some(text) => self.workbook.cell(kind, style, text)?,
                        None => Cell::Refused(
                            Code::Type,
                            "is a formula without a result: save it in a spreadsheet",
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
                    return Ok(Some(Row { line: self.line, cells }));
                }
                Event::End(e) if e.local_name().as_ref() == b"sheetData" => self.done = true,
                Event::Eof => return Err(TableError::unreadable("is cut off", Some(self.line))),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// The text of a cell: its value, or its own string. Nothing if it is a formula whose value was not stored.
fn text(sheet: &mut Xml, kind: Kind, budget: &mut Budget) -> Result<Option<String>, TableError> {
    let wanted: &[u8] = if kind == Kind::Inline { b"t" } else { b"v" };
    let (mut text, mut formula) = (Text::new(wanted), false);
    loop {
        match sheet.next(budget)? {
            Event::End(e) if e.local_name().as_ref() == b"c" => {
                let has_value = |text: &String| !formula || kind == Kind::Text || !text.is_empty();
                return Ok(Some(text.take()).filter(has_value));
            }
            Event::Start(e) if e.local_name().as_ref() == b"f" => formula = true,
            Event::Eof => return Err(TableError::unreadable("is cut off", None)),
            event => text.see(&event)?,
        }
    }
}

/// What the sheet says of its size, as `A1:T50001`: refused where that is absurd. A cell far out that is only formatted
/// is not.
fn dimension(e: &BytesStart<'_>, rows_max: u64) -> Result<(), TableError> {
    let value = attributes(e).find(|(name, _)| *name == b"ref").map(|(_, value)| value);
    let size = value.and_then(|value| reference(value.rsplit(|b| *b == b':').next()?));
    match size {
        Some((column, row))
            if row.saturating_mul((column as u64).saturating_add(1))
                > rows_max.saturating_add(1).saturating_mul(MAX_COLUMNS as u64) =>
        {
            let message = "must have fewer rows and columns: delete those that are empty too";
            Err(TableError::refused(Code::Length, message).with("maximum", rows_max))
        }
        _ => Ok(()),
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
