//! Writes CSV (RFC 4180) whose cells no spreadsheet runs as formulas or takes for errors (docs/api/lists.md, "CSV").

use std::borrow::Cow;

use crate::text::{SEPARATOR, escape_formula, is_formula, is_number, protect_formula};

/// A cell whose formula prefix is escaped. It is not quoted yet.
#[derive(Debug)]
pub struct CsvCell<'a>(Cow<'a, str>);

impl<'a> CsvCell<'a> {
    /// Creates a cell from a text.
    pub fn text(text: &'a str) -> Self {
        Self(escape_formula(text))
    }

    /// Creates a cell from the text of a cell that was read.
    pub(crate) fn raw(text: &'a str) -> Self {
        Self(protect_formula(text))
    }

    /// Creates a cell from the digits of a number, which no batch refuses.
    pub(crate) fn number(digits: &'a str) -> Self {
        if is_number(digits) { Self(digits.into()) } else { Self::text(digits) }
    }

    /// Creates a cell from a list of texts, which must not contain [`SEPARATOR`]. Each text is escaped separately.
    pub fn list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut list = String::new();
        for (i, text) in texts.into_iter().enumerate() {
            if i > 0 {
                list.push(SEPARATOR);
            }
            list.push_str(&escape_formula(text.as_ref()));
        }
        // A list that starts with a number such as `-1` is not a number itself.
        Self(if is_formula(&list) { format!("'{list}").into() } else { list.into() })
    }

    /// Returns the escaped text, without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for CsvCell<'a> {
    fn from(text: &'a str) -> Self {
        Self::text(text)
    }
}

impl<'a> From<&'a String> for CsvCell<'a> {
    fn from(text: &'a String) -> Self {
        Self::text(text)
    }
}

impl From<String> for CsvCell<'_> {
    fn from(text: String) -> Self {
        Self(escape_formula(&text).into_owned().into())
    }
}

/// A buffer of CSV rows. Each row ends with CRLF. Only cells that need quotes are quoted. Cells with `;` need them,
/// since spreadsheets in many European locales split at `;`.
#[derive(Debug, Default)]
pub struct CsvWriter {
    bytes: Vec<u8>,
    /// The last row has cells and is not ended.
    in_row: bool,
}

impl CsvWriter {
    /// Appends a row.
    pub fn row<'a, T: Into<CsvCell<'a>>>(&mut self, cells: impl IntoIterator<Item = T>) {
        for cell in cells {
            self.cell(&cell.into());
        }
        self.end_row();
    }

    /// Appends a cell to the last row.
    pub(crate) fn cell(&mut self, CsvCell(cell): &CsvCell<'_>) {
        if std::mem::replace(&mut self.in_row, true) {
            self.bytes.push(b',');
        }
        if needs_quotes(cell) {
            self.bytes.push(b'"');
            self.bytes.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
            self.bytes.push(b'"');
        } else {
            self.bytes.extend_from_slice(cell.as_bytes());
        }
    }

    /// Ends the last row.
    pub(crate) fn end_row(&mut self) {
        self.in_row = false;
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Returns the rows.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[expect(
    clippy::needless_bitwise_bool,
    reason = "without an early end the compiler compares 16 bytes at a time"
)]
fn needs_quotes(cell: &str) -> bool {
    let is_special = |b| (b == b',') | (b == b';') | (b == b'"') | (b == b'\r') | (b == b'\n');
    cell.bytes().fold(false, |found, b| found | is_special(b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::entries;
    use crate::text::tests::is_safe;
    use crate::text::{escape_formula, unescape_formula};

    proptest! {
        #[test]
        fn restores_every_row(cells in prop::collection::vec("[\\PC,;;\"=\r\n' a-]{0,9}", 2..5)) {
            let mut writer = CsvWriter::default();
            writer.row(&cells);
            let bytes = writer.into_bytes();
            let mut rows = ::csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
            let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
            prop_assert_eq!(rows.len(), 1);
            prop_assert_eq!(rows[0].iter().map(unescape_formula).collect::<Vec<_>>(), cells);
        }

        #[test]
        fn writes_the_same_rows_as_the_csv_crate(cells in prop::collection::vec("[\\PC,\"=\r\n' a-]{0,9}", 2..5)) {
            // The csv crate does not quote cells with `;`.
            let cells: Vec<_> = cells.iter().map(|cell| cell.replace(';', ",")).collect();
            let mut writer = CsvWriter::default();
            writer.row(&cells);
            let mut expected = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
            expected.write_record(cells.iter().map(|cell| escape_formula(cell).into_owned())).unwrap();
            prop_assert_eq!(writer.into_bytes(), expected.into_inner().unwrap());
        }

        #[test]
        fn restores_every_list_and_writes_no_formula(
            texts in prop::collection::vec("'{0,3}([=+@1-]{0,2}[1-9a'-]|#N/A|##|1E\\+5)", 0..5),
        ) {
            let CsvCell(cell) = CsvCell::list(&texts);
            prop_assert!(is_safe(&cell) && cell.split(SEPARATOR).all(is_safe), "{cell}");
            prop_assert_eq!(entries(&cell).collect::<Vec<_>>(), texts);
        }
    }

    #[test]
    fn quotes_cells_with_semicolons() {
        let mut writer = CsvWriter::default();
        writer.row(["a;b", "=1;2", ";", "plain", "\";"]);
        writer.row([CsvCell::list(["-1", "a"]), CsvCell::list(["a"])]);
        let expected = "\"a;b\",\"'=1;2\",\";\",plain,\"\"\";\"\r\n\"'-1;a\",a\r\n";
        assert_eq!(String::from_utf8(writer.into_bytes()).unwrap(), expected);
    }

    #[test]
    fn escapes_each_entry_of_a_list() {
        for (texts, cell) in [
            (&["a", "b"][..], "a;b"),
            (&["=a", "-b", "c"], "'=a;'-b;c"),
            (&["-1"], "-1"),
            (&["-1", "a"], "'-1;a"),
            (&["a", "-1", "'=b"], "a;-1;''=b"),
            (&[], ""),
        ] {
            assert_eq!(CsvCell::list(texts).0, cell);
            assert_eq!(entries(cell).collect::<Vec<_>>(), texts);
        }
    }
}
