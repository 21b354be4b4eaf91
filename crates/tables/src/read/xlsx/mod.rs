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
use super::{HeaderRank, TableHead, read_head};
use crate::read::Fault;
use archive::Archive;
pub use cell::cell_name;
use sheet::{NO_CELLS, SheetRows};
use workbook::{Sheet, Workbook};

/// The number of bytes in which the header row of a sheet is searched.
const SEARCHED_BYTES: usize = 1 << 20;
/// The maximum size of the worksheet, per byte of the file limit.
const SHEET_FACTOR: usize = 5;
/// The maximum number of worksheets that are searched for the header row.
const MAX_SHEETS: usize = 100;

/// A reader for the rows of a worksheet.
pub(crate) struct XlsxReader {
    archive: Archive,
    workbook: Workbook,
    sheets: Vec<Sheet>,
    /// The index of the sheet that is read.
    chosen: usize,
    rows: SheetRows,
}

/// A worksheet of a workbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetSummary {
    /// Its name.
    pub name: String,
    /// The number of rows with data below the header row. `None` if the sheet is damaged or too large.
    pub rows: Option<usize>,
    /// The workbook does not show it.
    pub is_hidden: bool,
}

/// The most worksheets of which a summary tells.
const MAX_SUMMARIES: usize = 100;

impl XlsxReader {
    /// Reads the workbook up to the first row of a worksheet: the one with this name, or the first visible one with a
    /// header row. Without one, the first visible one.
    ///
    /// # Errors
    /// If the workbook cannot be read, has no such worksheet or exceeds the limits.
    pub(crate) fn open(
        file: File,
        sheet: Option<&str>,
        rank: &dyn Fn(&[Cell]) -> HeaderRank,
        budget: &mut Budget,
    ) -> Result<Self, TableError> {
        let mut archive = Archive::open(file)?;
        let (workbook, sheets) = Workbook::open(&mut archive, budget)?;
        let chosen = match sheet {
            Some(name) => find_named(&sheets, name)?,
            None => find_table(&mut archive, &workbook, &sheets, rank, budget)?,
        };
        let rows = open_sheet(&mut archive, &sheets[chosen], budget)?;
        Ok(Self { archive, workbook, sheets, chosen, rows })
    }

    /// Returns the name of the sheet.
    pub(crate) fn sheet(&self) -> &str {
        &self.sheets[self.chosen].name
    }

    /// Returns the next row, which may be blank, without trailing blank cells.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
        self.rows.next(&self.workbook, budget)
    }

    /// Returns the first worksheets. The sheet that is read has `data_rows`. Damage of another sheet, and what exceeds
    /// the budget, leaves its number of rows unknown.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn summarize(
        &mut self,
        data_rows: usize,
        rank: &dyn Fn(&[Cell]) -> HeaderRank,
        budget: &mut Budget,
    ) -> Result<Vec<SheetSummary>, TableError> {
        let mut summaries = Vec::new();
        for (index, sheet) in self.sheets.iter().enumerate().take(MAX_SUMMARIES) {
            let rows = if index == self.chosen {
                Some(data_rows)
            } else {
                match count_rows(&mut self.archive, &self.workbook, sheet, rank, budget) {
                    Err(TableError::Disk(error)) => return Err(TableError::Disk(error)),
                    counted => counted.ok(),
                }
            };
            summaries.push(SheetSummary { name: sheet.name.clone(), rows, is_hidden: sheet.is_hidden });
        }
        Ok(summaries)
    }
}

fn open_sheet(archive: &mut Archive, sheet: &Sheet, budget: &mut Budget) -> Result<SheetRows, TableError> {
    let limit = budget.limits().bytes.saturating_mul(SHEET_FACTOR);
    let part = archive.part(&sheet.part, limit, budget)?;
    let part = part.ok_or_else(|| TableError::unreadable("lacks the part of a worksheet", None))?;
    SheetRows::open(part, budget)
}

/// Returns the index of the worksheet with this name, in any case.
///
/// # Errors
/// If there is none.
fn find_named(sheets: &[Sheet], name: &str) -> Result<usize, TableError> {
    let lower = name.to_lowercase();
    let found = sheets.iter().position(|sheet| sheet.name == name);
    let found = found.or_else(|| sheets.iter().position(|sheet| sheet.name.to_lowercase() == lower));
    found.ok_or_else(|| {
        TableError::UnknownSheet(sheets.iter().take(MAX_SUMMARIES).map(|sheet| sheet.name.clone()).collect())
    })
}

/// Returns the index of the first visible worksheet with a header row. Without one, of the first visible one.
///
/// # Errors
/// If there is no visible one, or the file cannot be read.
fn find_table(
    archive: &mut Archive,
    workbook: &Workbook,
    sheets: &[Sheet],
    rank: &dyn Fn(&[Cell]) -> HeaderRank,
    budget: &mut Budget,
) -> Result<usize, TableError> {
    let visible = sheets.iter().enumerate().filter(|(_, sheet)| !sheet.is_hidden).take(MAX_SHEETS);
    let visible: Vec<_> = visible.collect();
    let Some((first, _)) = visible.first() else {
        let message = "must have a visible worksheet: show the sheet with the table";
        return Err(TableError::refused(Fault::Format, message));
    };
    let mut best = (HeaderRank::None, *first);
    if visible.len() > 1 {
        for (index, sheet) in visible {
            let found = search_header(archive, workbook, sheet, rank, budget)?;
            if found > best.0 {
                best = (found, index);
            }
            if found == HeaderRank::All {
                break;
            }
        }
    }
    Ok(best.1)
}

/// Counts the rows with data below the header row of a sheet.
fn count_rows(
    archive: &mut Archive,
    workbook: &Workbook,
    sheet: &Sheet,
    rank: &dyn Fn(&[Cell]) -> HeaderRank,
    budget: &mut Budget,
) -> Result<usize, TableError> {
    let mut rows = match open_sheet(archive, sheet, budget) {
        Ok(rows) => rows,
        // Such a sheet has no rows at all.
        Err(TableError::Unreadable(message, None)) if message == NO_CELLS => return Ok(0),
        Err(error) => return Err(error),
    };
    let TableHead { header, rows: head, .. } = read_head(|| rows.next(workbook, budget), rank)?;
    let mut count = head.iter().skip(header + 1).filter(|row| !row.is_blank()).count();
    while let Some(row) = rows.next(workbook, budget)? {
        count += usize::from(!row.is_blank());
    }
    Ok(count)
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
