//! Texts that a spreadsheet application would run as a formula, or has put in the place of another text
//! (docs/api/lists.md, "CSV"; docs/api/batches.md, "Spreadsheets").

use std::borrow::Cow;

/// Characters that start a formula. Spreadsheets also accept the full-width forms.
const FORMULA_PREFIXES: [char; 10] =
    ['=', '+', '-', '@', '\t', '\r', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// The texts that spreadsheet applications show for errors, in the languages in which they have their own.
const SPREADSHEET_ERRORS: [&str; 56] = [
    "#N/A",
    "#REF!",
    "#NAME?",
    "#VALUE!",
    "#DIV/0!",
    "#NUM!",
    "#NULL!",
    "#SPILL!",
    "#CALC!",
    "#FIELD!",
    "#BLOCKED!",
    "#CONNECT!",
    "#UNKNOWN!",
    "#BUSY!",
    "#EXTERNAL!",
    "#PYTHON!",
    "#TIMEOUT!",
    "#ERROR!",
    "#GETTING_DATA",
    "#N/A N/A",
    "#NV",
    "#BEZUG!",
    "#WERT!",
    "#ZAHL!",
    "#\u{dc}BERLAUF!",
    "#N/D",
    "#NOM?",
    "#VALEUR!",
    "#NOMBRE!",
    "#NUL!",
    "#\u{a1}REF!",
    "#\u{bf}NOMBRE?",
    "#\u{a1}VALOR!",
    "#\u{a1}DIV/0!",
    "#\u{a1}NUM!",
    "#\u{a1}NULO!",
    "#RIF!",
    "#NOME?",
    "#VALORE!",
    "#NULLO!",
    "#VALOR!",
    "#N\u{da}M!",
    "#VERW!",
    "#NAAM?",
    "#WAARDE!",
    "#DEEL/0!",
    "#GETAL!",
    "#LEEG!",
    "#N/B",
    "#ADR!",
    "#ARG!",
    "#NAZWA?",
    "#DZIEL/0!",
    "#LICZBA!",
    "#N/D!",
    "#ZERO!",
];
/// How `LibreOffice` begins its own errors, such as `Err:502`.
const NUMBERED_ERROR: &str = "Err:";

/// Separates the entries of a list in one cell.
pub const SEPARATOR: char = ';';

/// Adds a leading `'` to a text that a spreadsheet would run as a formula and that is not a number, and to one that a
/// batch would refuse as a spreadsheet error or as an automatic number. A text that looks escaped already gets one more
/// `'`, so that [`unescape_formula`] restores every text.
pub(crate) fn escape_formula(text: &str) -> Cow<'_, str> {
    // Most texts begin with a letter or a digit.
    let may_be_formula = !text.bytes().next().is_none_or(|first| first.is_ascii_alphanumeric());
    if may_be_formula && is_formula(text) { format!("'{text}").into() } else { escape_converted(text) }
}

/// Adds a leading `'` as [`escape_formula`] does, but not to formulas. For cells with the type text, which no
/// spreadsheet runs as formulas.
pub(crate) fn escape_converted(text: &str) -> Cow<'_, str> {
    if is_converted(text) || is_escaped(text) { format!("'{text}").into() } else { text.into() }
}

/// Adds a leading `'` to a text of a table that a spreadsheet would run as a formula. A batch reads the result as it
/// reads the text.
pub(crate) fn protect_formula(text: &str) -> Cow<'_, str> {
    if is_formula(text) { format!("'{text}").into() } else { text.into() }
}

/// Removes the `'` that [`escape_formula`] added.
pub fn unescape_formula(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|_| is_escaped(cell)).unwrap_or(cell)
}

/// Returns the texts of a cell that [`CsvCell::list`](crate::CsvCell::list) wrote, trimmed.
pub fn entries(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(SEPARATOR).map(str::trim).filter(|entry| !entry.is_empty()).map(unescape_formula)
}

/// Returns true for the text that a spreadsheet shows for an error, such as `#N/A`, or where a column is too narrow:
/// `####`.
pub fn is_spreadsheet_error(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if text.as_bytes().first() == Some(&b'#') {
        (text.len() > 1 && text.bytes().all(|byte| byte == b'#'))
            || SPREADSHEET_ERRORS.iter().any(|error| error.eq_ignore_ascii_case(text))
    } else {
        text.strip_prefix(NUMBERED_ERROR).is_some_and(is_digits)
    }
}

/// Returns true for a number as spreadsheets write those for which a column is too narrow: `1.23457E+14`, with a point
/// or a comma.
pub fn is_scientific(text: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Most texts begin with a letter.
    if !matches!(text.as_bytes().first(), Some(b'0'..=b'9' | b'+' | b'-')) {
        return false;
    }
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return false };
    let mantissa = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
    // Without a sign it may be the number of a ticket, such as 12E4.
    is_digits(whole) && is_digits(fraction) && exponent.strip_prefix(['+', '-']).is_some_and(is_digits)
}

/// Returns true for a text that a batch refuses, because a spreadsheet may have put it in the place of another.
fn is_converted(text: &str) -> bool {
    match text.bytes().next() {
        Some(b'#' | b'E') => is_spreadsheet_error(text),
        _ => is_scientific(text),
    }
}

/// Returns true if one or more `'` are followed by a formula prefix, or by a text that a batch refuses.
fn is_escaped(cell: &str) -> bool {
    let inner = cell.trim_start_matches('\'');
    inner.len() < cell.len() && (inner.starts_with(FORMULA_PREFIXES) || is_converted(inner))
}

pub(crate) fn is_formula(text: &str) -> bool {
    text.starts_with(FORMULA_PREFIXES) && !is_number(text)
}

/// Returns true for numbers as spreadsheets read them: `-1.5`, `+3`, `1e-9`; not Rust's `inf` and `nan`.
pub(crate) fn is_number(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
        && text.parse::<f64>().is_ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn is_safe(cell: &str) -> bool {
        !cell.starts_with(FORMULA_PREFIXES) || cell.parse::<f64>().is_ok()
    }

    proptest! {
        #[test]
        fn restores_every_text_and_writes_no_formula(
            text in "['=+@\t\r\u{ff1d}\u{ff0b}0-9.e -]{0,4}\\PC{0,9}", quotes in "'{0,4}[=+@a-]?\\PC{0,2}",
            refused in "'{0,3}(#N/A|#REF!|#{1,5}|Err:[0-9]{0,3}|[+-]?[0-9]{1,3}([.,][0-9]{1,5})?[eE][+-]?[0-9]{1,3})",
        ) {
            for text in [text, quotes, refused] {
                let cell = escape_formula(&text);
                prop_assert!(is_safe(&cell) && !is_converted(&cell), "{cell}");
                prop_assert_eq!(unescape_formula(&cell), &text);
                // A cell with the type text may be a formula.
                let cell = escape_converted(&text);
                prop_assert!(!is_converted(&cell), "{cell}");
                prop_assert_eq!(unescape_formula(&cell), &text);
            }
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
            "#N/A",
            "#div/0!",
            "####",
            "#NAZWA?",
            "Err:508",
            "1.5E+10",
            "1,23457E+14",
            "-1e-9",
            "'#REF!",
            "''8.26303E+13",
        ] {
            assert_eq!(escape_formula(formula), format!("'{formula}"));
            assert_eq!(unescape_formula(&escape_formula(formula)), formula);
        }
        for plain in
            ["", "BG-1", "-1.5", "+3", "12E4", "#1", "#", "'quoted", "' =1", "'", "'#1", "Err:", "E+1"]
        {
            assert_eq!(escape_formula(plain), plain);
            assert_eq!(unescape_formula(plain), plain);
        }
    }
}
