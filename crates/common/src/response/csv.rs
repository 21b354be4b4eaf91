//! Writing CSV (RFC 4180) whose cells no spreadsheet runs as formulas (docs/api/lists.md, "CSV").

use std::borrow::Cow;

/// Characters that start a formula. Spreadsheets also accept the full-width forms.
const FORMULA_PREFIXES: [char; 10] =
    ['=', '+', '-', '@', '\t', '\r', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Separates the entries of a list in one cell.
pub const SEPARATOR: char = ';';

/// A cell whose formula prefix is escaped. It is not quoted yet.
#[derive(Debug)]
pub struct CsvCell<'a>(Cow<'a, str>);

impl<'a> CsvCell<'a> {
    /// Creates a cell from a text.
    pub fn text(text: &'a str) -> Self {
        Self(escape_formula(text))
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

/// Adds a leading `'` to a text that a spreadsheet would run as a formula and that is not a number. A text that looks
/// escaped already gets one more `'`, so that [`unescape_formula`] restores every text.
pub fn escape_formula(text: &str) -> Cow<'_, str> {
    // Most texts begin with a letter or a digit.
    if text.bytes().next().is_none_or(|first| first.is_ascii_alphanumeric()) {
        return text.into();
    }
    if is_formula(text) || is_escaped(text) { format!("'{text}").into() } else { text.into() }
}

/// Adds a leading `'` to a text that looks escaped, so that [`unescape_formula`] restores it. For cells with the type
/// text, which no spreadsheet runs as formulas.
pub(crate) fn escape_escaped(text: &str) -> Cow<'_, str> {
    if is_escaped(text) { format!("'{text}").into() } else { text.into() }
}

/// Removes the `'` that [`escape_formula`] added.
pub fn unescape_formula(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|_| is_escaped(cell)).unwrap_or(cell)
}

/// Returns the texts of a cell that [`CsvCell::list`] wrote, trimmed.
pub fn entries(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(SEPARATOR).map(str::trim).filter(|entry| !entry.is_empty()).map(unescape_formula)
}

/// Returns true if one or more `'` are followed by a formula prefix.
fn is_escaped(cell: &str) -> bool {
    cell.starts_with('\'') && cell.trim_start_matches('\'').starts_with(FORMULA_PREFIXES)
}

fn is_formula(text: &str) -> bool {
    text.starts_with(FORMULA_PREFIXES) && !is_number(text)
}

/// Returns true for numbers as spreadsheets read them: `-1.5`, `+3`, `1e-9`; not Rust's `inf` and `nan`.
fn is_number(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
        && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_safe(cell: &str) -> bool {
        !cell.starts_with(FORMULA_PREFIXES) || cell.parse::<f64>().is_ok()
    }

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
        fn restores_every_text_and_writes_no_formula(
            text in "['=+@\t\r\u{ff1d}\u{ff0b}0-9.e -]{0,4}\\PC{0,9}", quotes in "'{0,4}[=+@a-]?\\PC{0,2}",
        ) {
            for text in [text, quotes] {
                let cell = escape_formula(&text);
                prop_assert!(is_safe(&cell), "{cell}");
                prop_assert_eq!(unescape_formula(&cell), &text);
            }
        }

        #[test]
        fn restores_every_list_and_writes_no_formula(
            texts in prop::collection::vec("'{0,3}[=+@1-]{0,2}[1-9a'-]", 0..5),
        ) {
            let CsvCell(cell) = CsvCell::list(&texts);
            prop_assert!(is_safe(&cell) && cell.split(SEPARATOR).all(is_safe), "{cell}");
            prop_assert_eq!(entries(&cell).collect::<Vec<_>>(), texts);
        }
    }

    #[test]
    fn escapes_formulas() {
        for formula in [
            "=1+1",
            "+cmd",
            "-inf",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "-",
            "-2+3",
            "\u{ff1d}1",
            "\u{ff20}a",
            "'=1",
            "''-1",
        ] {
            assert_eq!(escape_formula(formula), format!("'{formula}"));
            assert_eq!(unescape_formula(&escape_formula(formula)), formula);
        }
        for plain in ["", "BG-1", "-1.5", "+3", "-1e-9", "'quoted", "' =1", "'"] {
            assert_eq!(escape_formula(plain), plain);
            assert_eq!(unescape_formula(plain), plain);
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
