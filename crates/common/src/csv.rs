//! CSV cells that no spreadsheet takes for formulas (contract, section 1, "CSV").

use std::borrow::Cow;

const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

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
    use super::*;

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
