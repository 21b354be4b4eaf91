//! Rows of typed cells, which are written as CSV or as a worksheet.

use database::Json;

use crate::Error;
use crate::response::csv::CsvWriter;
use crate::response::table_cell::TableCell;
use crate::response::xlsx::SheetRows;

/// The columns of an export and the function that writes its rows.
#[derive(Clone, Copy, Debug)]
pub struct TableLayout<W = fn(&Json, &mut RowWriter) -> Result<(), Error>> {
    /// The header row.
    pub columns: &'static [&'static str],
    /// Writes the row of a document: `Fn(&Json, &mut RowWriter) -> Result<(), Error>`.
    pub write: W,
}

/// A buffer of rows in the format of the response.
#[derive(Debug)]
pub struct RowWriter(Rows);

#[derive(Debug)]
enum Rows {
    Csv(CsvWriter),
    Sheet(SheetRows),
}

impl RowWriter {
    /// Returns an empty buffer of CSV.
    pub fn csv() -> Self {
        Self(Rows::Csv(CsvWriter::default()))
    }

    /// Returns a buffer of rows of a worksheet.
    pub(crate) fn sheet(rows: SheetRows) -> Self {
        Self(Rows::Sheet(rows))
    }

    /// Appends a row.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = TableCell<'a>>) {
        match &mut self.0 {
            Rows::Csv(csv) => {
                for cell in cells {
                    csv.cell(&cell.to_csv());
                }
                csv.end_row();
            }
            Rows::Sheet(sheet) => sheet.row(cells),
        }
    }

    /// Returns the rows of a CSV file.
    pub fn into_csv(self) -> Vec<u8> {
        if let Rows::Csv(csv) = self.0 { csv.into_bytes() } else { Vec::new() }
    }

    /// Returns the rows of a worksheet.
    pub(crate) fn into_sheet(self) -> SheetRows {
        if let Rows::Sheet(sheet) = self.0 { sheet } else { SheetRows::default() }
    }
}
