//! An instant, to the millisecond: what is stored is what is shown, and what a cursor compares.

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, SecondsFormat, SubsecRound, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::TimestampSql;

/// An instant in UTC with milliseconds, years 0001 to 9999 (contract, section 1).
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    diesel::expression::AsExpression,
    diesel::deserialize::FromSqlRow,
)]
#[diesel(sql_type = TimestampSql)]
pub struct Timestamp(pub(crate) DateTime<Utc>);

impl Timestamp {
    /// The present time.
    pub fn now() -> Self {
        Self(Utc::now().trunc_subsecs(3))
    }

    /// A date (`2026-03-01`: midnight UTC) or a date-time with offset.
    pub fn parse(text: &str) -> Option<Self> {
        Self::date(text).or_else(|| {
            // By way of milliseconds, which have no leap seconds: what is shown is what is stored.
            Self::from_millis(DateTime::parse_from_rfc3339(text).ok()?.timestamp_millis())
        })
    }

    /// The last instant that an inclusive range with this end covers: all of the day when only a date is given.
    pub fn parse_end(text: &str) -> Option<Self> {
        match Self::date(text) {
            Some(midnight) => Some(midnight.plus(chrono::TimeDelta::milliseconds(24 * 3_600_000 - 1))),
            None => Self::parse(text),
        }
    }

    fn date(text: &str) -> Option<Self> {
        let digits = text.len() == 10
            && text
                .bytes()
                .enumerate()
                .all(|(i, b)| (i == 4 || i == 7) == (b == b'-') && (b == b'-' || b.is_ascii_digit()));
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|d| digits && d.year() >= 1)?;
        Some(Self(date.and_time(NaiveTime::MIN).and_utc()))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn millis(self) -> i64 {
        self.0.timestamp_millis()
    }

    /// The instant so many milliseconds after 1970-01-01T00:00:00Z.
    pub fn from_millis(millis: i64) -> Option<Self> {
        DateTime::from_timestamp_millis(millis).filter(|t| (1..=9999).contains(&t.year())).map(Self)
    }

    /// This instant moved by so much; unchanged where that would leave the calendar.
    #[must_use]
    pub fn plus(self, delta: chrono::TimeDelta) -> Self {
        Self(self.0.checked_add_signed(delta).unwrap_or(self.0))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a date or a date-time with offset"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_an_instant_or_none(
            text in "\\PC{0,30}",
            date in "[0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\\.[0-9]{0,12})?(Z|z|[+-][0-9]{2}:[0-9]{2})?)?",
        ) {
            for text in [text, date] {
                let (start, end) = (Timestamp::parse(&text), Timestamp::parse_end(&text));
                prop_assert_eq!(start.is_some(), end.is_some());
                prop_assert!(start <= end);
                for instant in start.into_iter().chain(end) {
                    prop_assert_eq!(Timestamp::parse(&instant.to_string()), Some(instant));
                }
            }
        }
    }

    #[test]
    fn dates_and_date_times() {
        let shown = |text| Timestamp::parse(text).map(|t| t.to_string());
        assert_eq!(shown("2026-03-01").as_deref(), Some("2026-03-01T00:00:00.000Z"));
        assert_eq!(shown("2026-03-01T10:30:00.1239+01:00").as_deref(), Some("2026-03-01T09:30:00.123Z"));
        assert_eq!(Timestamp::parse_end("2026-03-01").unwrap().to_string(), "2026-03-01T23:59:59.999Z");
        for bad in
            ["", "2026-3-1", "2026-02-30", "0000-01-01", "2026-03-01T10:30:00", "+2026-03-01", "2026-03-01 "]
        {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }
}
