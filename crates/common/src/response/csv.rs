//! CSV as it is written (RFC 4180), with cells that no spreadsheet takes for formulas.

use std::borrow::Cow;

/// Characters that start a formula. Spreadsheets also accept the full-width forms.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Separates the entries of a list in one cell.
pub const SEPARATOR: char = ';';

/// A guarded cell, not yet quoted.
#[derive(Debug)]
pub struct CsvCell<'a>(Cow<'a, str>);

impl<'a> CsvCell<'a> {
    /// A text, guarded.
    pub fn text(text: &'a str) -> Self {
        Self(escape_formula(text))
    }

    /// A list of texts without [`SEPARATOR`], each guarded by itself.
    pub fn list<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let texts: Vec<_> =
            texts.into_iter().map(|text| escape_formula(text.as_ref()).into_owned()).collect();
        let list = texts.join(&SEPARATOR.to_string());
        // A number at the start of a list is no number.
        Self(if is_formula(&list) { format!("'{list}").into() } else { list.into() })
    }

    /// What is written, before quoting.
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

/// Rows of a table as they are sent: CRLF after each, quotes around those cells only that need them. Those with `;` do:
/// spreadsheets of many European locales split there.
#[derive(Debug, Default)]
pub struct CsvWriter(Vec<u8>);

impl CsvWriter {
    /// Adds a row.
    pub fn row<'a, T: Into<CsvCell<'a>>>(&mut self, cells: impl IntoIterator<Item = T>) {
        for (i, cell) in cells.into_iter().enumerate() {
            if i > 0 {
                self.0.push(b',');
            }
            let CsvCell(cell) = cell.into();
            if cell.bytes().any(|b| matches!(b, b',' | b';' | b'"' | b'\r' | b'\n')) {
                self.0.push(b'"');
                self.0.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
                self.0.push(b'"');
            } else {
                self.0.extend_from_slice(cell.as_bytes());
            }
        }
        self.0.extend_from_slice(b"\r\n");
    }

    /// The rows so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The cell for a text: with a `'` before what would start a formula and is no number, and before a text that looks
/// guarded already, so that [`unguard`] gives back every text.
pub fn escape_formula(text: &str) -> Cow<'_, str> {
    if is_formula(text) || is_guarded(text) { format!("'{text}").into() } else { text.into() }
}

/// The text of a cell: without the `'` that [`guard`] puts before it.
pub fn unescape_formula(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|_| is_guarded(cell)).unwrap_or(cell)
}

/// The texts of a cell that [`CsvCell::list`] wrote, without white space around them.
pub fn entries(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(SEPARATOR).map(str::trim).filter(|entry| !entry.is_empty()).map(unescape_formula)
}

/// True for a formula's beginning after one or more `'`.
fn is_guarded(cell: &str) -> bool {
    cell.starts_with('\'') && cell.trim_start_matches('\'').starts_with(FORMULA)
}

fn is_formula(text: &str) -> bool {
    text.starts_with(FORMULA) && !is_number(text)
}

/// As spreadsheets read numbers: `-1.5`, `+3`, `1e-9`; not Rust's `inf` and `nan`.
fn is_number(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
        && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_safe(cell: &str) -> bool {
        !cell.starts_with(FORMULA) || cell.parse::<f64>().is_ok()
    }

    proptest! {
        #[test]
        fn every_row_comes_back(cells in prop::collection::vec("[\\PC,;;\"=\r\n' a-]{0,9}", 2..5)) {
            let mut lines = CsvWriter::default();
            lines.row(&cells);
            let bytes = lines.into_bytes();
            let mut rows = ::csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
            let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
            prop_assert_eq!(rows.len(), 1);
            prop_assert_eq!(rows[0].iter().map(unescape_formula).collect::<Vec<_>>(), cells);
        }

        #[test]
        fn rows_are_those_of_the_csv_crate(cells in prop::collection::vec("[\\PC,\"=\r\n' a-]{0,9}", 2..5)) {
            // Which leaves cells with `;` without quotes.
            let cells: Vec<_> = cells.iter().map(|cell| cell.replace(';', ",")).collect();
            let mut lines = CsvWriter::default();
            lines.row(&cells);
            let mut other = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
            other.write_record(cells.iter().map(|cell| escape_formula(cell).into_owned())).unwrap();
            prop_assert_eq!(lines.into_bytes(), other.into_inner().unwrap());
        }

        #[test]
        fn every_text_comes_back_and_no_cell_is_a_formula(
            text in "['=+@\t\r\u{ff1d}\u{ff0b}0-9.e -]{0,4}\\PC{0,9}", quotes in "'{0,4}[=+@a-]?\\PC{0,2}",
        ) {
            for text in [text, quotes] {
                let cell = escape_formula(&text);
                prop_assert!(is_safe(&cell), "{cell}");
                prop_assert_eq!(unescape_formula(&cell), &text);
            }
        }

        #[test]
        fn every_list_comes_back_and_no_entry_is_a_formula(
            texts in prop::collection::vec("'{0,3}[=+@1-]{0,2}[1-9a'-]", 0..5),
        ) {
            let CsvCell(cell) = CsvCell::list(&texts);
            prop_assert!(is_safe(&cell) && cell.split(SEPARATOR).all(is_safe), "{cell}");
            prop_assert_eq!(entries(&cell).collect::<Vec<_>>(), texts);
        }
    }

    #[test]
    fn formulas_are_texts() {
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
    fn cells_with_a_semicolon_are_quoted() {
        let mut lines = CsvWriter::default();
        lines.row(["a;b", "=1;2", ";", "plain", "\";"]);
        lines.row([CsvCell::list(["-1", "a"]), CsvCell::list(["a"])]);
        let expected = "\"a;b\",\"'=1;2\",\";\",plain,\"\"\";\"\r\n\"'-1;a\",a\r\n";
        assert_eq!(String::from_utf8(lines.into_bytes()).unwrap(), expected);
    }

    #[test]
    fn entries_of_a_list_are_guarded_one_by_one() {
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
