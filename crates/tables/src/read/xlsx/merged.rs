//! Merged cells: which cells the sheet does not show.

use quick_xml::events::Event;

use super::cell::parse_reference;
use super::xml::{Namespace, XmlReader, attribute};
use crate::read::budget::{Budget, MAX_COLUMNS};
use crate::read::cell::{Cell, TableRow};
use crate::read::error::TableError;

/// The minimum for the limit of merged areas, which is otherwise the limit of rows.
const MIN_AREAS: usize = 1_000;

/// The merged cells of a sheet, for rows in their order.
#[derive(Default)]
pub(crate) struct MergedCells {
    /// Those that begin in later rows, the last first.
    later: Vec<Area>,
    /// Those that the current row may be part of.
    current: Vec<Area>,
    /// The number of the last row.
    line: u64,
}

struct Area {
    first_row: u64,
    last_row: u64,
    first_column: usize,
    last_column: usize,
    /// The reference, such as `E2:E4`.
    name: String,
}

impl MergedCells {
    /// Reads the elements `mergeCell` of a sheet.
    ///
    /// # Errors
    /// If the sheet cannot be read or has too many of them.
    pub(crate) fn read(sheet: &mut XmlReader, budget: &mut Budget) -> Result<Self, TableError> {
        let (mut later, max_areas) = (Vec::new(), budget.limits().rows.max(MIN_AREAS));
        loop {
            match sheet.next(budget)? {
                (Namespace::Main, Event::Start(e)) if e.local_name().as_ref() == b"mergeCell" => {
                    let area = attribute(&e, b"ref").and_then(|reference| Area::parse(&reference));
                    later.extend(area.filter(|area| area.first_column < MAX_COLUMNS));
                    if later.len() > max_areas {
                        return Err(TableError::too_many("merged areas", max_areas));
                    }
                }
                (_, Event::Eof) => break,
                _ => {}
            }
        }
        later.sort_by_key(|area| std::cmp::Reverse(area.first_row));
        Ok(Self { later, current: Vec::new(), line: 0 })
    }

    /// Marks the covered cells of the next row.
    ///
    /// # Errors
    /// If merged cells overlap, or rows are not in their order.
    pub(crate) fn mark(&mut self, row: &mut TableRow) -> Result<(), TableError> {
        if self.later.is_empty() && self.current.is_empty() {
            return Ok(());
        }
        let line = row.line;
        let damaged = |message| Err(TableError::unreadable(message, Some(line)));
        if line < self.line {
            return damaged(
                "has rows that are not in their order: save it again in a spreadsheet application",
            );
        }
        self.line = line;
        self.current.retain(|area| line <= area.last_row);
        while let Some(area) = self.later.pop_if(|area| area.first_row <= line) {
            if line <= area.last_row {
                self.current.push(area);
            }
            if self.current.len() > MAX_COLUMNS {
                return damaged("has merged cells that overlap");
            }
        }
        for area in &self.current {
            for column in area.first_column..=area.last_column.min(MAX_COLUMNS - 1) {
                if (line, column) != (area.first_row, area.first_column) {
                    while row.cells.len() <= column {
                        row.cells.push(Cell::Text(String::new()));
                    }
                    row.cells[column] = Cell::Covered(area.name.clone());
                }
            }
        }
        Ok(())
    }
}

impl Area {
    fn parse(reference: &[u8]) -> Option<Self> {
        let colon = reference.iter().position(|byte| *byte == b':')?;
        let (first_column, first_row) = parse_reference(&reference[..colon])?;
        let (last_column, last_row) = parse_reference(&reference[colon + 1..])?;
        let name = String::from_utf8_lossy(reference).into_owned();
        Some(Self { first_row, last_row, first_column, last_column, name })
    }
}
