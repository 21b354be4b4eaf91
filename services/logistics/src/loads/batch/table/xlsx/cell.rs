//! Cells: where they stand, of which kind they are, and what a person reads there.

use chrono::{Datelike, Days, NaiveDate};
use common::validation::Code;

use super::super::Cell;

/// What `t` says of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The index of a shared string.
    Shared,
    Inline,
    /// What a formula made.
    Text,
    Boolean,
    Error,
    /// A date as text.
    Date,
    Number,
}

impl Kind {
    pub fn of(name: &[u8]) -> Self {
        match name {
            b"s" => Self::Shared,
            b"inlineStr" => Self::Inline,
            b"str" => Self::Text,
            b"b" => Self::Boolean,
            b"e" => Self::Error,
            b"d" => Self::Date,
            _ => Self::Number,
        }
    }
}

/// Column and row of a reference: `B7` is column 1, row 7.
pub fn reference(text: &[u8]) -> Option<(usize, u64)> {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let column = text[..letters].iter().try_fold(0_usize, |column, letter| {
        column.checked_mul(26)?.checked_add(usize::from(letter.to_ascii_uppercase() - b'A') + 1)
    })?;
    let row = std::str::from_utf8(&text[letters..]).ok()?.parse().ok()?;
    Some((column.checked_sub(1)?, row))
}

/// The column of a reference.
pub fn column_of(text: &[u8]) -> Option<usize> {
    reference(text).map(|(column, _)| column)
}

/// A number as people read it; as a date where its format is one.
pub fn number(text: String, is_date: bool, is_1904: bool) -> Cell {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && is_date => date(number, is_1904),
        Ok(number) if number.is_finite() => Cell::Text(number.to_string()),
        _ => Cell::Text(text),
    }
}

/// `t="d"`: midnight is the date alone, as for dates that are numbers.
pub fn iso(text: &str) -> Cell {
    let midnight = text.split_once('T').filter(|(_, time)| time.trim_matches(['0', ':', '.']).is_empty());
    Cell::Text(midnight.map_or(text, |(date, _)| date).to_owned())
}

fn date(serial: f64, is_1904: bool) -> Cell {
    if serial.fract() != 0.0 {
        let why =
            "is a date with a time of day, but without offset: write it as text, as 2026-03-01T09:30:00Z";
        return Cell::Refused(Code::Format, why);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is looked at")]
    let days = if (0.0..3e6).contains(&serial) { Some(serial as u64) } else { None };
    // Day 60 is 29 February 1900, which never was: all dates after it are one day further than they should be.
    let epoch = match days {
        _ if is_1904 => NaiveDate::from_ymd_opt(1904, 1, 1),
        Some(61..) => NaiveDate::from_ymd_opt(1899, 12, 30),
        _ => NaiveDate::from_ymd_opt(1899, 12, 31),
    };
    let date = epoch.zip(days).and_then(|(epoch, days)| epoch.checked_add_days(Days::new(days)));
    match date.filter(|date| date.year() <= 9999) {
        Some(date) => Cell::Text(date.format("%Y-%m-%d").to_string()),
        None => Cell::Refused(Code::Format, "is no date of this calendar"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        assert_eq!(reference(b"A1"), Some((0, 1)));
        assert_eq!(reference(b"xfd1048576"), Some((16_383, 1_048_576)));
        for bad in [b"".as_slice(), b"A", b"1", b"A-1", b"\xff1", &b"Z".repeat(40)] {
            assert_eq!(reference(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn numbers_and_dates() {
        let plain = |text: &str| number(text.into(), false, false);
        for (given, read) in [
            ("1001.0", "1001"),
            ("29.399999999999999", "29.4"),
            ("1E3", "1000"),
            ("-0.5", "-0.5"),
            ("x", "x"),
        ] {
            assert_eq!(plain(given), Cell::Text(read.into()));
        }
        let date = |text: &str, is_1904| match number(text.into(), true, is_1904) {
            Cell::Text(text) => text,
            Cell::Refused(..) => "refused".into(),
        };
        assert_eq!(date("46082", false), "2026-03-01");
        assert_eq!(date("44620", true), "2026-03-01");
        assert_eq!(date("1", false), "1900-01-01");
        assert_eq!(date("61", false), "1900-03-01");
        for bad in ["46082.5", "-1", "1e9", "2958466"] {
            assert_eq!(date(bad, false), "refused", "{bad}");
        }
        assert_eq!(iso("2026-03-01T00:00:00.000"), Cell::Text("2026-03-01".into()));
        assert_eq!(iso("2026-03-01T09:30:00"), Cell::Text("2026-03-01T09:30:00".into()));
    }
}
