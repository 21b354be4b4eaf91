//! Timestamps with millisecond precision, and the clock that all replicas of a service share. Leases and due times use
//! it.

use std::time::Duration;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, SecondsFormat, SubsecRound, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::TimestampSql;
use crate::AnyConnection;

/// An instant in UTC with millisecond precision, in the years 0001 to 9999
/// (docs/api/conventions.md).
///
/// Stored as `timestamptz` on PostgreSQL and as Unix milliseconds on SQLite. Responses and cursors have the same
/// precision as the column.
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
    /// Returns the current time of this machine, truncated to milliseconds.
    pub fn now() -> Self {
        Self(Utc::now().trunc_subsecs(3))
    }

    /// Parses a date (`2026-03-01`, midnight UTC) or an RFC 3339 date-time with an offset, which may lack its seconds.
    /// Digits beyond milliseconds are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_date(text).or_else(|| {
            let seconds =
                Self::without_seconds(text).map(|(minutes, offset)| format!("{minutes}:00{offset}"));
            let text = seconds.as_deref().unwrap_or(text);
            // A leap second becomes the following second here, as it does when it is stored as milliseconds.
            Self::from_millis(DateTime::parse_from_rfc3339(text).ok()?.timestamp_millis())
        })
    }

    /// Splits `2026-03-01T10:00Z` before its offset. Returns `None` if the minutes are not followed by an offset.
    fn without_seconds(text: &str) -> Option<(&str, &str)> {
        const MINUTES: usize = "2026-03-01T10:00".len();
        let parts = text.split_at_checked(MINUTES)?;
        let ends_with_offset = parts.1.starts_with(['Z', 'z', '+', '-']);
        ends_with_offset.then_some(parts)
    }

    /// Parses the end of an inclusive range. A date is the last millisecond of that day; a date-time is itself.
    pub fn parse_end(text: &str) -> Option<Self> {
        match Self::parse_date(text) {
            Some(midnight) => Some(midnight.plus(TimeDelta::milliseconds(24 * 3_600_000 - 1))),
            None => Self::parse(text),
        }
    }

    fn parse_date(text: &str) -> Option<Self> {
        // chrono also accepts signs, white space and months of one digit.
        let is_canonical = text.len() == 10
            && text
                .bytes()
                .enumerate()
                .all(|(i, b)| (i == 4 || i == 7) == (b == b'-') && (b == b'-' || b.is_ascii_digit()));
        let date =
            NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|d| is_canonical && d.year() >= 1)?;
        Some(Self(date.and_time(NaiveTime::MIN).and_utc()))
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z; negative before it.
    pub fn millis(self) -> i64 {
        self.0.timestamp_millis()
    }

    /// Returns the instant `millis` milliseconds after 1970-01-01T00:00:00Z, or `None` outside the years 0001 to 9999.
    pub fn from_millis(millis: i64) -> Option<Self> {
        DateTime::from_timestamp_millis(millis).filter(|t| (1..=9999).contains(&t.year())).map(Self)
    }

    /// Returns this instant moved by `delta`, or unchanged if chrono cannot represent the result.
    #[must_use]
    pub fn plus(self, delta: TimeDelta) -> Self {
        Self(self.0.checked_add_signed(delta).unwrap_or(self.0))
    }

    /// Returns the instant `delay` later, or this instant if chrono cannot represent the result.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        self.plus(TimeDelta::from_std(delay).unwrap_or_default())
    }

    /// Returns the time until a later instant, or zero for an earlier one.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis((later.millis() - self.millis()).max(0).unsigned_abs())
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

/// The current time of the shared clock as an expression of PostgreSQL, so that a statement can store it
/// without a separate query. `now()` is the start of the transaction.
pub const SERVER_NOW: &str = "date_trunc('milliseconds', clock_timestamp())";

/// Returns the current time of the shared clock: the server's on PostgreSQL, this machine's on SQLite, where one
/// process writes.
///
/// # Errors
/// Fails if the query fails.
pub fn shared_now(c: &mut AnyConnection) -> QueryResult<Timestamp> {
    let AnyConnection::Postgres(c) = c else { return Ok(Timestamp::now()) };
    diesel::select(sql::<TimestampSql>(SERVER_NOW)).get_result(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parses_or_rejects_any_text(
            text in "\\PC{0,30}",
            date in "[0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-5][0-9](:[0-6][0-9](\\.[0-9]{0,12})?)?(Z|z|[+-][0-9]{2}:[0-9]{2})?)?",
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
    fn parses_dates_and_date_times() {
        let parsed = |text| Timestamp::parse(text).map(|t| t.to_string());
        assert_eq!(parsed("2026-03-01").as_deref(), Some("2026-03-01T00:00:00.000Z"));
        assert_eq!(parsed("2026-03-01T10:30:00.1239+01:00").as_deref(), Some("2026-03-01T09:30:00.123Z"));
        assert_eq!(parsed("2026-03-01T10:00Z").as_deref(), Some("2026-03-01T10:00:00.000Z"));
        assert_eq!(parsed("2026-03-01T10:00+01:00").as_deref(), Some("2026-03-01T09:00:00.000Z"));
        assert_eq!(Timestamp::parse_end("2026-03-01").unwrap().to_string(), "2026-03-01T23:59:59.999Z");
        for bad in
            ["", "2026-3-1", "2026-02-30", "0000-01-01", "2026-03-01T10:30:00", "+2026-03-01", "2026-03-01 "]
        {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }
}
