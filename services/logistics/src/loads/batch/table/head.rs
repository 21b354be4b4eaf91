//! Finds the header row: tables may have a title above it.

use std::collections::VecDeque;

use super::cell::{Cell, TableRow};
use super::error::TableError;

/// The header row is one of the first rows of a table.
const HEADER_ROWS: u64 = 20;

/// How much a row looks like the header row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HeaderRank {
    #[default]
    None,
    /// It names several columns.
    Some,
    /// It names all columns that every table needs.
    All,
}

/// The first rows of a table, from the header row on. Without a header row, from the first row on.
#[derive(Debug, Default)]
pub(crate) struct TableHead {
    pub rank: HeaderRank,
    pub rows: VecDeque<TableRow>,
}

/// Reads the first rows up to one that names all columns. `next` returns the next row that is not blank.
///
/// # Errors
/// Those of `next`.
pub(crate) fn read(
    mut next: impl FnMut() -> Result<Option<TableRow>, TableError>,
    rank: &dyn Fn(&[Cell]) -> HeaderRank,
) -> Result<TableHead, TableError> {
    let (mut head, mut header) = (TableHead::default(), 0);
    while head.rank != HeaderRank::All {
        let Some(row) = next()? else { break };
        let is_late = row.line > HEADER_ROWS && !head.rows.is_empty();
        let found = if is_late { HeaderRank::None } else { rank(&row.cells) };
        if found > head.rank {
            (head.rank, header) = (found, head.rows.len());
        }
        head.rows.push_back(row);
        if is_late || head.rows.len() as u64 == HEADER_ROWS {
            break;
        }
    }
    head.rows.drain(..header);
    Ok(head)
}
