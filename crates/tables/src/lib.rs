//! Reads and writes tables row by row, as CSV and as XLSX: the files of batches and of exports.
//!
//! The reader works within a [`Budget`], so that no file takes more time or memory than an ordinary table of the
//! largest size. The writers hold no more than the rows that are being written.
#![warn(unreachable_pub)]

mod read;
pub mod text;
mod write;

pub use read::{
    Budget, Cell, Fault, Formulas, HeaderRank, MAX_COLUMNS, Number, NumberFormat, SPREADSHEET_ERROR,
    SheetSummary, TableError, TableLimits, TableOptions, TableReader, TableRow, TextEncoding, cell_name,
};
pub use write::{
    CsvCell, CsvWriter, RowWriter, SHEET_NAME, SheetRows, TableCell, XLSX_MEDIA_TYPE, XlsxWriter,
};
