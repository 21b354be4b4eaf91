//! Limits that bound the time and memory of validating a batch, whatever its files contain.

use super::error::TableError;

/// The maximum number of columns of a table.
pub const MAX_COLUMNS: usize = 256;
/// The maximum length of a cell text in a workbook. The rest is cut off; no column accepts as much.
pub(crate) const MAX_TEXT_BYTES: usize = 64 << 10;

/// The minimum for the limit of blank rows, which is otherwise the limit of rows.
const MIN_BLANK_ROWS: usize = 1_000;
/// Cells per row, including blank cells: twice the number of columns.
const CELLS_PER_ROW: usize = 40;
/// XML events (tags and texts) per cell. Spreadsheet applications write five to eight.
const EVENTS_PER_CELL: usize = 10;
/// Unpacked bytes of all parts of workbooks, per byte of the file limit.
const UNPACKED_FACTOR: usize = 7;
/// Bytes of all cell texts, per byte of the file limit.
const TEXT_FACTOR: usize = 5;

/// The configured limits of a batch.
#[derive(Clone, Copy, Debug)]
pub struct TableLimits {
    /// Rows of all files.
    pub rows: usize,
    /// Bytes of each file as uploaded. Worksheets may unpack to five times as many, shared strings to twice as many,
    /// which is far more than the maximum number of rows needs.
    pub bytes: usize,
}

/// The remaining budget of a batch, which its files share. No batch takes longer to validate than the largest batch of
/// ordinary tables.
#[derive(Debug)]
pub struct Budget {
    limits: TableLimits,
    blank_rows: usize,
    cells: usize,
    xml_events: usize,
    /// Remaining unpacked bytes of all parts of workbooks.
    unpacked_bytes: usize,
    /// Remaining cell-text budget in bytes. Many cells can refer to the same shared string.
    text_bytes: usize,
}

impl Budget {
    /// Returns the whole budget of a batch.
    pub fn new(limits: TableLimits) -> Self {
        Self {
            limits,
            blank_rows: Self::max_blank_rows(limits),
            cells: Self::max_cells(limits),
            xml_events: Self::max_xml_events(limits),
            unpacked_bytes: limits.bytes.saturating_mul(UNPACKED_FACTOR),
            text_bytes: limits.bytes.saturating_mul(TEXT_FACTOR),
        }
    }

    fn max_blank_rows(limits: TableLimits) -> usize {
        limits.rows.max(MIN_BLANK_ROWS)
    }

    fn max_cells(limits: TableLimits) -> usize {
        Self::max_blank_rows(limits).saturating_mul(CELLS_PER_ROW)
    }

    fn max_xml_events(limits: TableLimits) -> usize {
        Self::max_cells(limits).saturating_mul(EVENTS_PER_CELL)
    }

    /// Returns the limits of the batch.
    pub(crate) fn limits(&self) -> TableLimits {
        self.limits
    }

    /// Returns the remaining number of unpacked bytes.
    pub(crate) fn unpacked_bytes(&self) -> usize {
        self.unpacked_bytes
    }

    /// Takes a blank row from the budget.
    pub fn take_blank_row(&mut self) -> Result<(), TableError> {
        let too_many = || TableError::too_many("blank rows: delete them", Self::max_blank_rows(self.limits));
        self.blank_rows = self.blank_rows.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }

    /// Takes cells from the budget.
    pub(crate) fn take_cells(&mut self, count: usize) -> Result<(), TableError> {
        let too_many = || TableError::too_many("cells, blank cells included", Self::max_cells(self.limits));
        self.cells = self.cells.checked_sub(count).ok_or_else(too_many)?;
        Ok(())
    }

    /// Takes an XML event from the budget.
    pub(crate) fn take_xml_event(&mut self) -> Result<(), TableError> {
        let too_many =
            || TableError::too_many("tags and texts in its XML", Self::max_xml_events(self.limits));
        self.xml_events = self.xml_events.checked_sub(1).ok_or_else(too_many)?;
        Ok(())
    }

    /// Takes unpacked bytes from the budget, at most as many as remain.
    pub(crate) fn take_unpacked(&mut self, bytes: usize) {
        self.unpacked_bytes = self.unpacked_bytes.saturating_sub(bytes);
    }

    /// Takes bytes of cell text from the budget.
    pub(crate) fn take_text(&mut self, bytes: usize) -> Result<(), TableError> {
        let too_large = TableError::TooLarge(self.limits.bytes.saturating_mul(TEXT_FACTOR));
        self.text_bytes = self.text_bytes.checked_sub(bytes).ok_or(too_large)?;
        Ok(())
    }
}
