//! Merged cells: which cells the sheet does not show.

use quick_xml::events::Event;

use super::cell::parse_reference;
use super::xml::{Namespace, XmlReader, attribute, is_true};
use crate::read::budget::{Budget, MAX_COLUMNS};
use crate::read::cell::{Cell, TableRow};
use crate::read::error::TableError;

/// The minimum for the limit of merged areas, which is otherwise the limit of rows.
const MIN_AREAS: usize = 1_000;

/// The message for a sheet with two rows at one place, or a row after a later one.
pub(crate) const ROWS_OUT_OF_ORDER: &str =
    "has rows that are not in their order, or twice: save it again in a spreadsheet application";

/// What stands after the rows of a sheet: its merged cells, for rows in their order.
#[derive(Default)]
pub(crate) struct MergedCells {
    /// The stored results of formulas are not their results.
    pub(crate) is_recalculated: bool,
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
    /// Reads the elements `mergeCell` and `sheetCalcPr` of a sheet.
    ///
    /// # Errors
    /// If the sheet cannot be read or has too many of them.
    pub(crate) fn read(sheet: &mut XmlReader, budget: &mut Budget) -> Result<Self, TableError> {
        let (mut later, max_areas) = (Vec::new(), budget.limits().rows.max(MIN_AREAS));
        let mut is_recalculated = false;
        loop {
            match sheet.next(budget)? {
                (Namespace::Main, Event::Start(e)) if e.local_name().as_ref() == b"mergeCell" => {
                    let area = attribute(&e, b"ref").and_then(|reference| Area::parse(&reference));
                    let message =
                        "has merged cells at an unknown place: save it again in a spreadsheet application";
                    let area = area.ok_or_else(|| TableError::unreadable(message, None))?;
                    later.extend(Some(area).filter(|area| area.first_column < MAX_COLUMNS));
                    if later.len() > max_areas {
                        return Err(TableError::too_many("merged areas", max_areas));
                    }
                }
                (Namespace::Main, Event::Start(e)) if e.local_name().as_ref() == b"sheetCalcPr" => {
                    is_recalculated = is_true(&e, b"fullCalcOnLoad");
                }
                (_, Event::Eof) => break,
                _ => {}
            }
        }
        later.sort_by_key(|area| std::cmp::Reverse(area.first_row));
        Ok(Self { is_recalculated, later, ..Self::default() })
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
            return damaged(ROWS_OUT_OF_ORDER);
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
    /// Parses a reference with corners in any order: `E2:E4`, `$E$4:$E$2`, whole columns `E:F`, whole rows `2:3`.
    fn parse(reference: &[u8]) -> Option<Self> {
        let name = String::from_utf8_lossy(reference).replace('$', "");
        let (first, last) = name.split_once(':').unwrap_or((&name, &name));
        let is_columns = !name.contains(|c: char| c.is_ascii_digit());
        let is_rows = !name.contains(|c: char| c.is_ascii_alphabetic());
        let corner = |corner: &str| match (is_columns, is_rows) {
            (true, _) => parse_reference(format!("{corner}1").as_bytes()),
            (_, true) => parse_reference(format!("A{corner}").as_bytes()),
            _ => parse_reference(corner.as_bytes()),
        };
        let (first, last) = (corner(first)?, corner(last)?);
        Some(Self {
            first_row: first.1.min(last.1),
            last_row: if is_columns { u64::MAX } else { first.1.max(last.1) },
            first_column: first.0.min(last.0),
            last_column: if is_rows { MAX_COLUMNS - 1 } else { first.0.max(last.0) },
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_areas() {
        let parse = |reference: &str| {
            let area = Area::parse(reference.as_bytes())?;
            Some((area.first_column, area.first_row, area.last_column, area.last_row))
        };
        for same in ["E2:E4", "$E$2:$E$4", "E4:E2", "e$4:$e2"] {
            assert_eq!(parse(same), Some((4, 2, 4, 4)), "{same}");
        }
        assert_eq!(parse("F4:E2"), Some((4, 2, 5, 4)));
        assert_eq!(parse("$F:$E"), Some((4, 1, 5, u64::MAX)));
        assert_eq!(parse("3:2"), Some((0, 2, MAX_COLUMNS - 1, 3)));
        assert_eq!(parse("E2"), Some((4, 2, 4, 2)));
        for bad in ["", ":", "E2:", "E2:E", "E2:E3:E4", "E2 E3", "R2C5:R3C5"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
