//! Reads a worksheet of an XLSX workbook (ECMA-376) row by row: the first visible one with a header row.
//!
//! Existing libraries trust what a file announces: they allocate memory for the announced number of strings, or copy a
//! font for each style. This reader unpacks only the parts that it needs, each within its limit. It holds only the
//! shared strings, the styles of numbers and the merged cells in memory.

mod archive;
mod cell;
mod merged;
mod number_styles;
mod sheet;
mod workbook;
mod xml;

use std::fs::File;

use super::budget::Budget;
use super::cell::{Cell, TableRow};
use super::error::TableError;
use super::{HeaderRank, read_head};
use archive::Archive;
pub use cell::cell_name;
use sheet::SheetRows;
use workbook::{Sheet, Workbook};

/// The number of bytes in which the header row of a sheet is searched.
const SEARCHED_BYTES: usize = 1 << 20;
/// The maximum size of the worksheet, per byte of the file limit.
const SHEET_FACTOR: usize = 5;

/// A reader for the rows of a worksheet.
pub(crate) struct XlsxReader {
    workbook: Workbook,
    name: String,
    rows: SheetRows,
}

impl XlsxReader {
    /// Reads the workbook up to the first row of the first visible worksheet with a header row. Without one, of the
    /// first visible worksheet.
    ///
    /// # Errors
    /// If the workbook cannot be read, has no visible worksheet or exceeds the limits.
    pub(crate) fn open(
        file: File,
        rank: &dyn Fn(&[Cell]) -> HeaderRank,
        budget: &mut Budget,
    ) -> Result<Self, TableError> {
        let mut archive = Archive::open(file)?;
        let (workbook, mut sheets) = Workbook::open(&mut archive, budget)?;
        let mut best = (HeaderRank::None, 0);
        if sheets.len() > 1 {
            for (index, sheet) in sheets.iter().enumerate() {
                let found = search_header(&mut archive, &workbook, sheet, rank, budget)?;
                if found > best.0 {
                    best = (found, index);
                }
                if found == HeaderRank::All {
                    break;
                }
            }
        }
        let Sheet { name, part } = sheets.swap_remove(best.1);
        let limit = budget.limits().bytes.saturating_mul(SHEET_FACTOR);
        let part = archive.part(&part, limit, budget)?;
        let part = part.ok_or_else(|| TableError::unreadable("lacks the part of a worksheet", None))?;
        Ok(Self { rows: SheetRows::open(part, budget)?, workbook, name })
    }

    /// Returns the name of the sheet.
    pub(crate) fn sheet(&self) -> &str {
        &self.name
    }

    /// Returns the next row, which may be blank, without trailing blank cells.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
        self.rows.next(&self.workbook, budget)
    }
}

/// Returns how much one of the first rows of a sheet looks like a header row.
fn search_header(
    archive: &mut Archive,
    workbook: &Workbook,
    sheet: &Sheet,
    rank: &dyn Fn(&[Cell]) -> HeaderRank,
    budget: &mut Budget,
) -> Result<HeaderRank, TableError> {
    let Some(part) = archive.start_of_part(&sheet.part, SEARCHED_BYTES, budget)? else {
        return Ok(HeaderRank::None);
    };
    // The part may be cut off. What is wrong with the sheet is reported if it is chosen.
    let mut rows = match SheetRows::open_start(part, budget) {
        Err(TableError::Disk(error)) => return Err(TableError::Disk(error)),
        Err(_) => return Ok(HeaderRank::None),
        Ok(rows) => rows,
    };
    let next = || match rows.next(workbook, budget) {
        Err(TableError::Disk(error)) => Err(TableError::Disk(error)),
        result => Ok(result.unwrap_or_default()),
    };
    Ok(read_head(next, rank)?.rank)
}
