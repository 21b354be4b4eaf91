//! Parses references, types and values of worksheet cells.

use chrono::{Datelike, Days, NaiveDate, NaiveTime, TimeDelta};

use crate::read::cell::{Cell, Number};
use crate::read::number_format::{NumberFormat, general, significant};

const MILLIS_PER_DAY: f64 = 86_400_000.0;
/// How much smaller serial numbers are that count from 1904.
const DAYS_TO_1904: f64 = 1_462.0;

/// The type of a cell, from its attribute `t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellType {
    /// The value is the index of a shared string.
    Shared,
    Inline,
    /// The value is the text that a formula returned.
    FormulaText,
    Boolean,
    Error,
    /// The value is a date in ISO 8601.
    Date,
    Number,
}

impl CellType {
    /// Parses the attribute. Unknown types count as numbers.
    pub(crate) fn parse(name: &[u8]) -> Self {
        match name {
            b"s" => Self::Shared,
            b"inlineStr" => Self::Inline,
            b"str" => Self::FormulaText,
            b"b" => Self::Boolean,
            b"e" => Self::Error,
            b"d" => Self::Date,
            _ => Self::Number,
        }
    }
}

/// Parses a reference to column (from 0) and row (from 1): `B7` is column 1, row 7.
pub(crate) fn parse_reference(text: &[u8]) -> Option<(usize, u64)> {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let column = text[..letters].iter().try_fold(0_usize, |column, letter| {
        column.checked_mul(26)?.checked_add(usize::from(letter.to_ascii_uppercase() - b'A') + 1)
    })?;
    let row = std::str::from_utf8(&text[letters..]).ok()?.parse().ok()?;
    Some((column.checked_sub(1)?, row))
}

/// Parses the column of a reference, from 0.
pub(crate) fn parse_column(text: &[u8]) -> Option<usize> {
    parse_reference(text).map(|(column, _)| column)
}

/// Returns the name of a cell from its column (from 0) and its row (from 1): column 1, row 7 is `B7`.
pub fn cell_name(mut column: usize, row: u64) -> String {
    let mut name = row.to_string();
    loop {
        let letter = u8::try_from(column % 26).map_or('A', |letter| char::from(b'A' + letter));
        name.insert(0, letter);
        match (column / 26).checked_sub(1) {
            Some(rest) => column = rest,
            None => return name,
        }
    }
}

/// What a style makes of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NumberStyle {
    #[default]
    General,
    Format(NumberFormat),
    /// A date, or a time of day in an unknown time zone.
    Date(NumberFormat),
    /// A date, or an instant: the format shows that it is in UTC.
    UtcDate(NumberFormat),
    /// A date whose day the format does not show, or not always.
    NoDate(NumberFormat),
}

/// The message for a date cell that shows something else.
pub(crate) const NO_DATE: &str =
    "is a date whose number format shows something else: give the cell a date format, such as yyyy-mm-dd";

/// The message for a time of day in an unknown time zone.
const NO_OFFSET: &str =
    "is a date with a time of day but no offset: write it as text, such as 2026-03-01T09:30:00Z";

/// What the style of a cell makes of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellStyle {
    pub(crate) number: NumberStyle,
    /// Texts are shown as they are.
    pub(crate) shows_texts: bool,
}

/// The length up to which the text of a number has no more digits than spreadsheets keep.
const SHORT_NUMBER: usize = 15;

/// Reads a number, which is a date if its style is one. The result 0 of a formula is no date: the cell to which it
/// refers is empty.
pub(crate) fn parse_numeric(text: String, style: &NumberStyle, is_1904: bool, is_formula: bool) -> Cell {
    let value = match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && text.len() <= SHORT_NUMBER => value,
        Ok(value) if value.is_finite() => significant(value),
        _ => return Cell::Text(text),
    };
    match style {
        NumberStyle::NoDate(format) if !is_formula || value.abs() > 0.0 => {
            let value = if format.is_elapsed_time() { value } else { serial_1900(value, is_1904) };
            Cell::NoDate(NO_DATE, text, Some((value, format.clone())))
        }
        NumberStyle::Date(format) | NumberStyle::UtcDate(format) if !is_formula || value.abs() > 0.0 => {
            parse_serial_date(value, matches!(style, NumberStyle::UtcDate(_)), is_1904, format)
        }
        NumberStyle::Format(format) => {
            Cell::Number(Number { value, format: Some(format.clone()), is_formula })
        }
        _ => Cell::Number(Number { value, format: None, is_formula }),
    }
}

/// Parses a value of type `d`. Midnight becomes a date without time, as for dates that are numbers.
pub(crate) fn parse_iso_date(text: &str) -> String {
    let midnight = text.split_once('T').filter(|(_, time)| time.trim_matches(['0', ':', '.']).is_empty());
    midnight.map_or(text, |(date, _)| date).to_owned()
}

/// Converts the number of a date to that of a workbook whose day 1 is 1900-01-01.
fn serial_1900(number: f64, is_1904: bool) -> f64 {
    if is_1904 && number >= 0.0 { number + DAYS_TO_1904 } else { number }
}

fn parse_serial_date(number: f64, is_utc: bool, is_1904: bool, format: &NumberFormat) -> Cell {
    let serial_1900 = serial_1900(number, is_1904);
    let no_date = |message, text| Cell::NoDate(message, text, Some((serial_1900, format.clone())));
    #[expect(clippy::cast_possible_truncation, reason = "less than a day has")]
    let mut millis = (number.rem_euclid(1.0) * MILLIS_PER_DAY).round() as i64;
    let mut serial = number.floor();
    #[expect(clippy::cast_possible_truncation, reason = "a whole number")]
    if millis == MILLIS_PER_DAY as i64 {
        (serial, millis) = (serial + 1.0, 0);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    let days = if (0.0..3e6).contains(&serial) { Some(serial as u64) } else { None };
    // Day 60 is 29 February 1900, which did not exist. Later dates therefore count from one day earlier.
    let epoch = match days {
        _ if is_1904 => NaiveDate::from_ymd_opt(1904, 1, 1),
        // Day 0 is shown as 0 January 1900.
        Some(0 | 60) => None,
        Some(61..) => NaiveDate::from_ymd_opt(1899, 12, 30),
        _ => NaiveDate::from_ymd_opt(1899, 12, 31),
    };
    let date = epoch.zip(days).and_then(|(epoch, days)| epoch.checked_add_days(Days::new(days)));
    let Some(date) = date.filter(|date| date.year() <= 9999) else {
        let message = if millis == 0 || is_utc { "is not a valid date" } else { NO_OFFSET };
        return no_date(message, general(number));
    };
    let instant = date.and_time(NaiveTime::MIN) + TimeDelta::milliseconds(millis);
    match millis {
        0 => Cell::Date(date.format("%Y-%m-%d").to_string()),
        _ if is_utc => Cell::Date(instant.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()),
        _ => no_date(NO_OFFSET, instant.format("%Y-%m-%d %H:%M:%S").to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_references() {
        assert_eq!(parse_reference(b"A1"), Some((0, 1)));
        assert_eq!(parse_reference(b"xfd1048576"), Some((16_383, 1_048_576)));
        for bad in [b"".as_slice(), b"A", b"1", b"A-1", b"\xff1", &b"Z".repeat(40)] {
            assert_eq!(parse_reference(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn names_cells() {
        for (column, name) in [(0, "A3"), (25, "Z3"), (26, "AA3"), (255, "IV3"), (16_383, "XFD3")] {
            assert_eq!(cell_name(column, 3), name);
            assert_eq!(parse_reference(name.as_bytes()), Some((column, 3)));
        }
    }

    #[test]
    fn parses_numbers_and_dates() {
        let plain = |text: &str| parse_numeric(text.into(), &NumberStyle::General, false, false);
        for (given, read) in [
            ("1001.0", 1001.0),
            ("29.399999999999999", 29.4),
            ("29.400000000000002", 29.4),
            ("1E3", 1000.0),
            ("-0.5", -0.5),
        ] {
            assert_eq!(plain(given), Cell::Number(Number { value: read, format: None, is_formula: false }));
        }
        assert_eq!(plain("x"), Cell::Text("x".into()));
        let read = |text: &str, style, is_1904| match parse_numeric(text.into(), &style, is_1904, false) {
            Cell::Date(date) => date,
            Cell::NoDate(..) => "invalid".into(),
            other => panic!("{other:?}"),
        };
        let format = || NumberFormat::new("d/m/yy h:mm");
        let date = |text: &str, is_1904| read(text, NumberStyle::Date(format()), is_1904);
        let instant = |text: &str, is_1904| read(text, NumberStyle::UtcDate(format()), is_1904);
        assert_eq!(instant("46082.395833333336", false), "2026-03-01T09:30:00.000Z");
        assert_eq!(instant("44620.395833333336", true), "2026-03-01T09:30:00.000Z");
        assert_eq!(instant("46082", false), "2026-03-01");
        assert_eq!(instant("46081.9999999999", false), "2026-03-01", "within a millisecond");
        assert_eq!(date("46081.9999999999", false), "2026-03-01");
        assert_eq!(date("46082", false), "2026-03-01");
        assert_eq!(date("44620", true), "2026-03-01");
        assert_eq!(date("1", false), "1900-01-01");
        assert_eq!(date("61", false), "1900-03-01");
        assert_eq!([date("59", false), date("0", true)], ["1900-02-28", "1904-01-01"]);
        for bad in ["46082.5", "-1", "1e9", "2958466", "0", "60"] {
            assert_eq!(date(bad, false), "invalid", "{bad}");
        }
        assert_eq!(read("46082", NumberStyle::NoDate(format()), false), "invalid");
        for (code, in_1900) in [("[>0]d/m/yyyy", 46082.0), ("[h]:mm", 44620.0)] {
            let format = NumberFormat::new(code);
            let cell = parse_numeric("44620".into(), &NumberStyle::NoDate(format.clone()), true, false);
            assert!(
                matches!(cell, Cell::NoDate(_, _, Some(number)) if number == (in_1900, format)),
                "{code}"
            );
        }
        for (serial, is_1904, in_1900) in
            [("46082.5", false, 46082.5), ("44620.5", true, 46082.5), ("-1", true, -1.0)]
        {
            let cell = parse_numeric(serial.into(), &NumberStyle::Date(format()), is_1904, false);
            assert!(
                matches!(cell, Cell::NoDate(_, _, Some(number)) if number == (in_1900, format())),
                "{serial}"
            );
        }
        let nothing = parse_numeric("0".into(), &NumberStyle::Date(format()), false, true);
        assert!(matches!(nothing, Cell::Number(number) if number.is_formula));
        assert_eq!(parse_iso_date("2026-03-01T00:00:00.000"), "2026-03-01");
        assert_eq!(parse_iso_date("2026-03-01T09:30:00"), "2026-03-01T09:30:00");
    }
}
