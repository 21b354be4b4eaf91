//! How dates, times, numbers and weights are written, and how typed ones are read.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::api::model::Weight;

/// Writes times in the configured zone, and knows which day it is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) zone: Tz,
}

impl Clock {
    /// Returns the present day.
    pub(crate) fn today(self) -> NaiveDate {
        Utc::now().with_timezone(&self.zone).date_naive()
    }

    /// Returns the time of an instant, as in `Mon 3 Aug 10:15`. The year is added to those of other years.
    pub(crate) fn time(self, instant: &str) -> String {
        self.local(instant).map_or_else(
            || instant.to_owned(),
            |local| format!("{} {}", self.day(local.date()), local.format("%H:%M")),
        )
    }

    /// Returns a delivery: a day, or a time if it is not midnight UTC, which stands for the day alone. A day never
    /// shifts with the zone.
    pub(crate) fn delivery(self, instant: &str) -> String {
        match (delivery_day(instant), self.local(instant)) {
            (Some(day), _) => self.day(day),
            (None, Some(local)) => format!("{} {}", self.day(local.date()), local.format("%H:%M")),
            (None, None) => instant.to_owned(),
        }
    }

    /// Returns the day of a delivery in the zone.
    pub(crate) fn delivery_date(self, instant: &str) -> Option<NaiveDate> {
        delivery_day(instant).or_else(|| self.local(instant).map(|local| local.date()))
    }

    /// Returns a day, as in `Mon 3 Aug`, with the year if it is another one.
    pub(crate) fn day(self, day: NaiveDate) -> String {
        let year = if day.year() == self.today().year() { "" } else { " %Y" };
        day.format(&format!("%a %-d %b{year}")).to_string()
    }

    /// Returns the first instant of a day in the zone, as a filter of deliveries takes it.
    pub(crate) fn from(self, day: NaiveDate) -> String {
        self.beginning(day).map_or_else(|| day.to_string(), timestamp)
    }

    /// Returns the last instant of a day in the zone, as a filter of deliveries takes it.
    pub(crate) fn until(self, day: NaiveDate) -> String {
        let end = self.beginning(day).and(self.beginning(day + Days::new(1)));
        end.map_or_else(|| day.to_string(), |end| timestamp(end - TimeDelta::milliseconds(1)))
    }

    /// Returns when a day begins. `None` in zones in which midnight UTC, which stands for a delivery without a time,
    /// belongs to another day: there, days are those of UTC, so that no delivery shifts.
    fn beginning(self, day: NaiveDate) -> Option<DateTime<Utc>> {
        let midnight = day.and_time(NaiveTime::MIN).and_utc().with_timezone(&self.zone);
        let begins = day.and_time(NaiveTime::MIN).and_local_timezone(self.zone).earliest()?;
        (midnight.date_naive() == day).then(|| begins.with_timezone(&Utc))
    }

    /// Returns a delivery as it is typed: a day, with its time if it has one.
    pub(crate) fn typed_delivery(self, instant: &str) -> String {
        match (delivery_day(instant), self.local(instant)) {
            (Some(day), _) => typed_date(day),
            (None, Some(local)) => format!("{} {}", typed_date(local.date()), local.format("%H:%M")),
            (None, None) => String::new(),
        }
    }

    /// Reads a typed delivery: a day as [`parse_date`] takes it, or a day and a time in the zone. Returns it as the API
    /// takes it.
    pub(crate) fn parse_delivery(self, text: &str) -> Option<String> {
        let (day, time) = match text.trim().rsplit_once(char::is_whitespace) {
            Some((day, time)) if time.contains(':') => (day, Some(time)),
            _ => (text, None),
        };
        let day = parse_date(day)?;
        let Some(time) = time else { return Some(day.to_string()) };
        let time = NaiveTime::parse_from_str(time, "%H:%M").ok()?;
        let at = day.and_time(time).and_local_timezone(self.zone).earliest()?;
        Some(timestamp(at.with_timezone(&Utc)))
    }

    fn local(self, instant: &str) -> Option<NaiveDateTime> {
        Some(DateTime::parse_from_rfc3339(instant).ok()?.with_timezone(&self.zone).naive_local())
    }
}

fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Returns the day that a delivery without a time has: the one of its midnight in UTC.
fn delivery_day(instant: &str) -> Option<NaiveDate> {
    let time = DateTime::parse_from_rfc3339(instant).ok()?.naive_utc();
    (time.time() == NaiveTime::MIN).then(|| time.date())
}

/// Returns the Monday of a week.
pub(crate) fn monday(day: NaiveDate) -> NaiveDate {
    day - Days::new(day.weekday().num_days_from_monday().into())
}

/// Returns a number with two decimals and commas between thousands, as weighbridge tickets have it.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{:.2}", value.abs());
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, "00"));
    let mut grouped = String::new();
    for (index, digit) in whole.char_indices() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    // Rounded to zero, it has no sign.
    let sign = if value < 0.0 && text != "0.00" { "\u{2212}" } else { "" };
    format!("{sign}{grouped}.{decimals}")
}

/// Returns a weight in tonnes without a unit, or a dash.
pub(crate) fn tonnes(weight: Option<Weight>) -> String {
    weight.map_or_else(|| "\u{2013}".to_owned(), |weight| number(weight.tonnes()))
}

/// Returns a weight as it is typed: with as many decimals as it has.
pub(crate) fn typed_tonnes(weight: Option<Weight>) -> String {
    weight.map(|weight| typed_number(weight.tonnes())).unwrap_or_default()
}

/// Returns a number as it is typed, with at most four decimals.
pub(crate) fn typed_number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns what the difference of two weights is, in tonnes and in per cent of the first.
pub(crate) fn difference(from: Weight, to: Weight) -> (f64, String) {
    let (from, to) = (from.tonnes(), to.tonnes());
    let percent = if from == 0.0 { 0.0 } else { (to - from) / from * 100.0 };
    let sign = |text: &str| if to - from > 0.0 && text != "0.00" { "+" } else { "" };
    let tonnes = number(to - from);
    // Without the sign of a rounded zero.
    let rounded = format!("{:.1}", (percent * 10.0).round() / 10.0 + 0.0).replace('-', "\u{2212}");
    (percent, format!("{}{tonnes} t, {}{rounded} %", sign(&tonnes), sign(&tonnes)))
}

/// Returns a day as it is typed, with its weekday.
pub(crate) fn typed_date(day: NaiveDate) -> String {
    day.format("%a %-d %b %Y").to_string()
}

/// Reads a typed day: `10 Dec 2026`, with or without its weekday, `10/12/2026`, which begins with the day, or
/// `2026-12-10`.
pub(crate) fn parse_date(text: &str) -> Option<NaiveDate> {
    let text = text.replace([',', '.', '/'], " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_weekday = |word: &str| word.chars().all(char::is_alphabetic);
    let words = if words.first().is_some_and(|word| is_weekday(word)) { &words[1..] } else { &words };
    let text = words.join(" ");
    let formats = ["%Y-%m-%d", "%d %m %Y", "%d %B %Y"];
    let parsed = formats.iter().find_map(|format| NaiveDate::parse_from_str(&text, format).ok());
    // chrono reads `26` as the year 26.
    parsed.filter(|day| (2000..2200).contains(&day.year()))
}

/// Why a typed number is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// It is no number.
    Invalid,
    /// `1,234` is a thousand in one country and one in another.
    Ambiguous,
}

impl NumberError {
    /// Returns what to do, for the person who typed it.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Invalid => "is not a number: write it as 29.04",
            Self::Ambiguous => {
                "could be a thousand or a decimal: write 1234 without a comma, or the decimal with a point"
            }
        }
    }
}

/// The greatest number that a form takes. The services know better limits.
const MAX_NUMBER: f64 = 1e9;

/// Reads a typed number, with a decimal point or comma. With both, the last one is decimal and the others separate
/// thousands: `1,234.50` and `1.234,50`.
pub(crate) fn parse_number(text: &str) -> Result<f64, NumberError> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let has_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let read = |whole: &str, decimals: &str| {
        let is_number =
            has_digits(whole) && has_digits(decimals) && !(whole.is_empty() && decimals.is_empty());
        let number = is_number.then(|| format!("0{whole}.{decimals}0").parse::<f64>().ok()).flatten();
        number.filter(|number| *number <= MAX_NUMBER).ok_or(NumberError::Invalid)
    };
    let Some(mark) = text.rfind(['.', ',']) else { return read(&text, "") };
    let (whole, decimals) = (&text[..mark], &text[mark + 1..]);
    let (decimal, other) = if text[mark..].starts_with(',') { (',', '.') } else { ('.', ',') };
    if whole.contains(other) && !whole.contains(decimal) {
        let groups: Vec<&str> = whole.split(other).collect();
        let is_grouped =
            (1..=3).contains(&groups[0].len()) && groups[1..].iter().all(|group| group.len() == 3);
        return if is_grouped { read(&groups.concat(), decimals) } else { Err(NumberError::Invalid) };
    }
    let number = read(whole, decimals)?;
    let may_be_thousand = decimal == ',' && decimals.len() == 3 && !["", "0"].contains(&whole);
    if may_be_thousand { Err(NumberError::Ambiguous) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONDON: Clock = Clock { zone: Tz::Europe__London };

    fn weight(weight: f64) -> Weight {
        Weight { weight, conversion: 1000.0 }
    }

    #[test]
    fn a_day_never_shifts_and_a_time_is_local() {
        let new_york = Clock { zone: Tz::America__New_York };
        for clock in [LONDON, new_york] {
            assert_eq!(clock.delivery("2020-08-03T00:00:00.000Z"), "Mon 3 Aug 2020");
        }
        assert_eq!(LONDON.delivery("2020-08-03T23:30:00.000Z"), "Tue 4 Aug 2020 00:30");
        assert_eq!(new_york.time("2020-08-03T00:00:00.000Z"), "Sun 2 Aug 2020 20:00");
        assert_eq!(LONDON.delivery("soon"), "soon");
        let today = LONDON.today();
        assert!(!LONDON.day(today).contains("20"), "the present year is left out");
        let date = |text: &str| text.parse::<NaiveDate>().unwrap();
        assert_eq!(LONDON.delivery_date("2020-08-03T23:30:00.000Z"), Some(date("2020-08-04")));
        assert_eq!(monday(date("2026-08-09")), date("2026-08-03"));
        assert_eq!(monday(date("2026-08-03")), date("2026-08-03"));
    }

    #[test]
    fn days_of_filters_are_those_of_the_zone() {
        let date = |text: &str| text.parse::<NaiveDate>().unwrap();
        let summer = date("2026-08-03");
        assert_eq!(LONDON.from(summer), "2026-08-02T23:00:00.000Z");
        assert_eq!(LONDON.until(summer), "2026-08-03T22:59:59.999Z");
        let (change, winter) = (date("2026-10-25"), date("2026-12-03"));
        assert_eq!(LONDON.from(change), "2026-10-24T23:00:00.000Z");
        assert_eq!(LONDON.until(change), "2026-10-25T23:59:59.999Z");
        assert_eq!(LONDON.from(winter), "2026-12-03T00:00:00.000Z");
        // A delivery on 3 August is one in New York too.
        let new_york = Clock { zone: Tz::America__New_York };
        assert_eq!(
            (new_york.from(summer), new_york.until(summer)),
            ("2026-08-03".into(), "2026-08-03".into())
        );
    }

    #[test]
    fn a_delivery_with_a_time_is_typed_in_the_zone() {
        let typed = "Tue 4 Aug 2026 00:30";
        assert_eq!(LONDON.typed_delivery("2026-08-03T23:30:00.000Z"), typed);
        assert_eq!(LONDON.parse_delivery(typed).as_deref(), Some("2026-08-03T23:30:00.000Z"));
        assert_eq!(LONDON.parse_delivery("4/8/2026 7:05").as_deref(), Some("2026-08-04T06:05:00.000Z"));
        assert_eq!(LONDON.parse_delivery("4 Aug 2026").as_deref(), Some("2026-08-04"));
        assert_eq!(LONDON.typed_delivery("2026-08-04T00:00:00.000Z"), "Tue 4 Aug 2026");
        for text in ["4 Aug 2026 25:00", "07:30", "", "soon"] {
            assert_eq!(LONDON.parse_delivery(text), None, "{text}");
        }
    }

    #[test]
    fn dates_are_typed_with_the_day_first() {
        let day = NaiveDate::from_ymd_opt(2026, 12, 10).unwrap();
        assert_eq!(typed_date(day), "Thu 10 Dec 2026");
        for text in [
            "2026-12-10",
            "10/12/2026",
            "10.12.2026",
            "10 Dec 2026",
            "Thu 10 Dec 2026",
            "Thursday, 10 December 2026",
        ] {
            assert_eq!(parse_date(text), Some(day), "{text}");
        }
        for text in [
            "29.0,4",
            "1,23,4.5",
            "12345678901",
            "",
            "12/13/2026",
            "10 Dec",
            "10/12/26",
            "tomorrow",
            "Thu",
            "31 Jun 2026",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_as_on_tickets() {
        for (value, text) in [
            (0.0, "0.00"),
            (29.02, "29.02"),
            (999.999, "1,000.00"),
            (34_118.5, "34,118.50"),
            (1_234_567.0, "1,234,567.00"),
            (-1.92, "\u{2212}1.92"),
            (-0.001, "0.00"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!((typed_number(29.0), typed_number(29.45)), ("29".to_owned(), "29.45".to_owned()));
        assert_eq!(difference(weight(29.02), weight(27.1)).1, "\u{2212}1.92 t, \u{2212}6.6 %");
        assert_eq!(difference(weight(29.0), weight(29.04)).1, "+0.04 t, +0.1 %");
        assert_eq!(difference(weight(0.0), weight(0.0)).1, "0.00 t, 0.0 %");
    }

    #[test]
    fn both_decimal_signs_are_read() {
        for (text, value) in [
            ("29.04", 29.04),
            (" 29,04 ", 29.04),
            ("29", 29.0),
            ("0,125", 0.125),
            (".5", 0.5),
            ("1,234.50", 1234.5),
            ("1.234,5", 1234.5),
            ("1.234.567,5", 1_234_567.5),
            ("1234", 1234.0),
            ("29,5", 29.5),
        ] {
            assert_eq!(parse_number(text), Ok(value), "{text}");
        }
        for text in ["1,234", "29,040"] {
            assert_eq!(parse_number(text), Err(NumberError::Ambiguous), "{text}");
        }
        for text in [
            "29.0,4",
            "1,23,4.5",
            "12345678901",
            "",
            "x",
            "-1",
            "1e5",
            "NaN",
            "1.2.3",
            "1,2,3",
            ".",
            ",",
            "12,34.5",
        ] {
            assert_eq!(parse_number(text), Err(NumberError::Invalid), "{text}");
        }
    }
}
