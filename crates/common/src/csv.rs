//! CSV as it is written (RFC 4180), with cells that no spreadsheet takes for formulas (contract, section 1, "CSV").

use std::borrow::Cow;

const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Rows of a table as they are sent: CRLF after each, quotes around those cells only that need them.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Adds a row of these texts, each guarded.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        for (i, cell) in cells.into_iter().enumerate() {
            if i > 0 {
                self.0.push(b',');
            }
            let cell = guard(cell.as_ref());
            if cell.bytes().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n')) {
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

/// The cell for a text: with a `'` before what would start a formula and is no number.
pub fn guard(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA) && !is_number(text) { format!("'{text}").into() } else { text.into() }
}

/// The text of a cell: without the `'` that [`guard`] puts before a formula.
pub fn unguard(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| text.starts_with(FORMULA)).unwrap_or(cell)
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

    proptest! {
        #[test]
        fn rows_are_those_of_the_csv_crate(cells in prop::collection::vec("[\\PC,\"=\r\n' a-]{0,9}", 2..5)) {
            let mut lines = Lines::default();
            lines.row(&cells);
            let mut other = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
            other.write_record(cells.iter().map(|cell| guard(cell).into_owned())).unwrap();
            prop_assert_eq!(lines.into_bytes(), other.into_inner().unwrap());
        }

        #[test]
        fn what_is_guarded_is_no_formula_and_comes_back(text in "['=+@\t\r0-9.e -]{0,3}\\PC{0,9}") {
            let cell = guard(&text);
            prop_assert!(!cell.starts_with(FORMULA) || cell.parse::<f64>().is_ok());
            // A text that looks guarded already is taken for one.
            if !text.strip_prefix('\'').is_some_and(|rest| rest.starts_with(FORMULA)) {
                prop_assert_eq!(unguard(&cell), &text);
            }
        }
    }

    #[test]
    fn formulas_are_texts() {
        for formula in ["=1+1", "+cmd", "-inf", "@SUM(A1)", "\t=1", "\r=1", "-", "-2+3"] {
            assert_eq!(guard(formula), format!("'{formula}"));
            assert_eq!(unguard(&guard(formula)), formula);
        }
        for plain in ["", "BG-1", "-1.5", "+3", "-1e-9", "'quoted", "' =1"] {
            assert_eq!(guard(plain), plain);
            assert_eq!(unguard(plain), plain);
        }
    }
}
