//! The options of a batch: what rows that exist already and invalid rows mean, and how the texts of the files are read
//! (docs/api/batches.md).

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

/// What happens to rows whose loads exist already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IfExists {
    /// They are not looked for: each row is a new load.
    #[default]
    Create,
    /// They are left out and counted.
    Skip,
    /// They are errors.
    Refuse,
    /// Their cells edit the loads.
    Update,
}

/// What the load of a row that exists already has in common with the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum MatchBy {
    /// The reference and the delivery date.
    #[default]
    ReferenceAndDate,
    /// The reference.
    Reference,
}

/// What happens to a batch with invalid rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum InvalidRows {
    /// It is refused.
    #[default]
    Refuse,
    /// They are left out.
    LeaveOut,
}

/// What a response contains besides its usual members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Include {
    /// The cells of the rows with entries.
    Rows,
    /// Also the cells of the rows whose reference a load of another date has.
    SameReference,
}

/// The format in which a dry run returns the sheet with the problems of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum SheetFormat {
    Csv,
    Xlsx,
}

/// A value that the form states, or that is decided from the content of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Choice<T> {
    /// The word `auto`.
    Auto(AutoWord),
    /// Another word.
    Given(T),
}

/// The word `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AutoWord {
    /// `auto`
    Auto,
}

impl<T: Default> Default for Choice<T> {
    fn default() -> Self {
        Self::Given(T::default())
    }
}

impl<T> Choice<T> {
    /// Returns the stated value, or `None` for `auto`.
    pub(crate) fn given(self) -> Option<T> {
        if let Self::Given(value) = self { Some(value) } else { None }
    }
}

/// The order of day and month in dates that are texts. ISO dates are accepted in every order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DateOrder {
    /// Only ISO dates: `2026-03-01`.
    #[default]
    Iso,
    /// Day, month, year: `01/03/2026`, `1.3.2026` or `01-03-2026`.
    Dmy,
    /// Month, day, year: `03/01/2026`, `3.1.2026` or `03-01-2026`.
    Mdy,
}

/// The decimal separator of numbers that are texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DecimalSeparator {
    /// `29.4`
    #[default]
    Point,
    /// `29,4`
    Comma,
}

/// How the texts of cells are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CellOptions {
    pub(crate) date_order: DateOrder,
    pub(crate) decimal: DecimalSeparator,
}

impl DateOrder {
    /// Returns a text in this order as an ISO date, or an ISO date without its midnight. Returns `None` for every other
    /// text, other ISO dates included.
    pub(crate) fn to_iso(self, text: &str) -> Option<String> {
        let day = without_midnight(text);
        if let Some(day) = day.filter(|day| NaiveDate::parse_from_str(day, "%Y-%m-%d").is_ok()) {
            return Some(day.to_owned());
        }
        self.day_to_iso(day.unwrap_or(text))
    }

    fn day_to_iso(self, text: &str) -> Option<String> {
        let is_separator = |c: char| matches!(c, '/' | '-' | '.');
        let separator = text.chars().find(|c| is_separator(*c))?;
        let parts: Vec<&str> = text.splitn(4, separator).collect();
        let [first, second, year] = parts[..] else { return None };
        let number = |text: &str, lengths: &[usize]| {
            let is_number = lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| text.parse::<u32>().ok()).flatten()
        };
        let (first, second) = (number(first, &[1, 2])?, number(second, &[1, 2])?);
        let year = i32::try_from(number(year, &[4])?).ok().filter(|year| *year > 0)?;
        let (day, month) = match self {
            Self::Iso => return None,
            Self::Dmy => (first, second),
            Self::Mdy => (second, first),
        };
        Some(NaiveDate::from_ymd_opt(year, month, day)?.format("%Y-%m-%d").to_string())
    }

    /// Returns the message for a date that is refused.
    pub(crate) fn message(self) -> Option<&'static str> {
        match self {
            Self::Iso => None,
            Self::Dmy => Some(
                "must be a date such as 01/03/2026 (day, month, year) or 2026-03-01, or a date-time with offset such as \
                 2026-03-01T09:30:00Z",
            ),
            Self::Mdy => Some(
                "must be a date such as 03/01/2026 (month, day, year) or 2026-03-01, or a date-time with offset such as \
                 2026-03-01T09:30:00Z",
            ),
        }
    }
}

/// Returns a date without its time of day if that is midnight without an offset, as spreadsheet applications write
/// days: `01/12/2026 00:00:00`, `2026-12-01T00:00`, `12/1/2026 12:00:00 AM`.
fn without_midnight(text: &str) -> Option<&str> {
    let (day, time) = text.split_once(['T', ' '])?;
    let time = time.trim();
    let suffix = time.len().checked_sub(2).and_then(|at| time.split_at_checked(at));
    let (hour, time) = match suffix {
        Some((time, half)) if half.eq_ignore_ascii_case("AM") => ("12", time.trim_end()),
        _ => ("0", time),
    };
    let mut parts = time.split(':');
    let hours = parts.next()?;
    let is_zero = |part: &str| {
        part.bytes().next().is_some_and(|b| b == b'0') && part.bytes().all(|b| b"0.".contains(&b))
    };
    let is_midnight =
        hours.trim_start_matches('0') == hour.trim_start_matches('0') && (1..=2).contains(&hours.len());
    let rest = parts.clone().count();
    (is_midnight && (1..=2).contains(&rest) && parts.all(is_zero)).then_some(day)
}

impl DecimalSeparator {
    /// Returns the message for a point in a number with a decimal comma.
    pub(crate) const POINT_MESSAGE: &str =
        "must have a decimal comma and no point, such as 29,4: the batch was sent with decimal=comma";

    /// Parses a number. Returns `None` for a text that is no number.
    ///
    /// # Errors
    /// If the text has a point and the separator is a comma.
    pub(crate) fn parse(self, text: &str) -> Result<Option<f64>, &'static str> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
        match self {
            Self::Point => Ok(number(text)),
            Self::Comma if text.contains('.') => Err(Self::POINT_MESSAGE),
            Self::Comma => Ok(number(&text.replacen(',', ".", 1))),
        }
    }

    /// Returns the message for a weight that is no number.
    pub(crate) fn number_message(self) -> &'static str {
        match self {
            Self::Point => "must be a number, such as 29.4",
            Self::Comma => "must be a number, such as 29,4",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn reads_every_date_in_both_orders(
            days in 1..3_652_059_i32, separator in "[/.-]", padded in any::<bool>(),
        ) {
            use chrono::Datelike;
            let date = NaiveDate::from_num_days_from_ce_opt(days).unwrap();
            let (year, month, day) = (date.year(), date.month(), date.day());
            let write = |first: u32, second: u32| if padded {
                format!("{first:02}{separator}{second:02}{separator}{year:04}")
            } else {
                format!("{first}{separator}{second}{separator}{year:04}")
            };
            let iso = Some(format!("{year:04}-{month:02}-{day:02}"));
            prop_assert_eq!(&DateOrder::Dmy.to_iso(&write(day, month)), &iso);
            prop_assert_eq!(&DateOrder::Mdy.to_iso(&write(month, day)), &iso);
            prop_assert_eq!(DateOrder::Iso.to_iso(&write(day, month)), None);
        }

        #[test]
        fn reads_every_number_with_a_comma(digits in 0..100_000_000_u32, places in 0..5_usize) {
            let number = f64::from(digits) / 10_f64.powi(i32::try_from(places).unwrap());
            let text = format!("{number:.places$}");
            prop_assert_eq!(DecimalSeparator::Point.parse(&text), Ok(text.parse().ok()));
            let comma = text.replace('.', ",");
            prop_assert_eq!(DecimalSeparator::Comma.parse(&comma), Ok(text.parse().ok()));
            prop_assert_eq!(DecimalSeparator::Comma.parse(&text).is_err(), places > 0);
        }

        #[test]
        fn refuses_other_texts_without_a_panic(text in "\\PC{0,12}", near in "[0-9/.-]{0,12}") {
            for text in [text, near] {
                for order in [DateOrder::Dmy, DateOrder::Mdy] {
                    if let Some(iso) = order.to_iso(&text) {
                        prop_assert!(database::Timestamp::parse(&iso).is_some(), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn refuses_impossible_and_ambiguous_dates() {
        for text in [
            "31/02/2026",
            "29/02/2025",
            "1/3/26",
            "01/03-2026",
            "2026-03-01",
            "2026/03/01",
            "01/03/2026 09:30",
            "001/03/2026",
            "1/3/0000",
            "/3/2026",
            "1/3/2026/",
            "+1/3/2026",
            "",
        ] {
            assert_eq!(DateOrder::Dmy.to_iso(text), None, "{text}");
        }
        assert_eq!(DateOrder::Dmy.to_iso("13/12/2026").as_deref(), Some("2026-12-13"));
        assert_eq!(DateOrder::Mdy.to_iso("13/12/2026"), None);
    }

    #[test]
    fn midnight_is_the_day() {
        for time in
            ["00:00", "0:00", "00:00:00", "0:00:00", "00:00:00.000", "12:00 AM", "12:00:00 am", "12:00:00AM"]
        {
            assert_eq!(
                DateOrder::Dmy.to_iso(&format!("03/11/2026 {time}")).as_deref(),
                Some("2026-11-03"),
                "{time}"
            );
            assert_eq!(
                DateOrder::Iso.to_iso(&format!("2026-11-03 {time}")).as_deref(),
                Some("2026-11-03"),
                "{time}"
            );
        }
        assert_eq!(DateOrder::Iso.to_iso("2026-11-03T00:00:00").as_deref(), Some("2026-11-03"));
        for other in [
            "2026-11-03 00:01",
            "2026-11-03 12:00",
            "2026-11-03 12:00 PM",
            "2026-11-03 00",
            "2026-11-03T00:00Z",
            "2026-11-03 00:00:00+01:00",
            "2026-11-03 24:00",
            "2026-02-30 00:00",
            "2026-11-03 0:",
            "2026-11-03 ",
        ] {
            assert_eq!(DateOrder::Iso.to_iso(other), None, "{other}");
        }
    }

    #[test]
    fn refuses_points_and_two_commas() {
        let comma = DecimalSeparator::Comma;
        assert_eq!(comma.parse("1.234,5"), Err(DecimalSeparator::POINT_MESSAGE));
        assert_eq!(comma.parse("29.4"), Err(DecimalSeparator::POINT_MESSAGE));
        assert_eq!(
            (comma.parse("1,2,3"), comma.parse("inf"), comma.parse("x")),
            (Ok(None), Ok(None), Ok(None))
        );
        assert_eq!(DecimalSeparator::Point.parse("29,4"), Ok(None));
    }
}
