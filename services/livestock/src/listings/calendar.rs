//! Days as numbers, and the ages of dogs in months.

use database::{Amount, Timestamp};

/// One month as ages are stored: in ten-thousandths.
const SCALED_MONTH: i64 = 10_000;

/// The numbers of [`day`] that each month takes: one more than the days of the longest month.
pub(crate) const DAYS_PER_MONTH: i64 = 32;

/// Returns the number of a day: `(year * 12 + month) * 32 + day`, months from 0.
///
/// The difference of two days, divided by [`DAYS_PER_MONTH`] and rounded down, is the number of completed months
/// between them.
pub(crate) fn day(at: Timestamp) -> i64 {
    let text = at.to_string();
    let part =
        |range| text.get(range).and_then(|digits: &str| digits.parse::<i64>().ok()).unwrap_or_default();
    (part(0..4) * 12 + part(5..7) - 1) * DAYS_PER_MONTH + part(8..10)
}

/// Returns the number of completed months since a day of birth.
pub(crate) fn months_since(born: i64, now: Timestamp) -> i64 {
    (day(now) - born) / DAYS_PER_MONTH
}

/// Returns the number of completed months from a day of birth to another day, in ten-thousandths.
pub(crate) fn scaled_months_between(born: i64, today: i64) -> i64 {
    (today - born).max(0) / DAYS_PER_MONTH * SCALED_MONTH
}

/// Returns the latest [`day`] of birth of dogs of at least this age in months. Age 0 includes dogs born tomorrow:
/// another time zone may have that day already.
pub(crate) fn born_until(age: Amount, now: Timestamp) -> i64 {
    match (age.scaled() + SCALED_MONTH - 1) / SCALED_MONTH {
        0 => i64::MAX,
        months => day(now) - DAYS_PER_MONTH * months,
    }
}

/// Returns the latest [`day`] of birth of dogs that are older than this age in months: younger dogs are born after it.
pub(crate) fn born_after(age: Amount, now: Timestamp) -> i64 {
    day(now) - DAYS_PER_MONTH * (age.scaled() / SCALED_MONTH + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_end_on_the_day_of_birth() {
        let between =
            |born, now| months_since(day(Timestamp::parse(born).unwrap()), Timestamp::parse(now).unwrap());
        for (born, now, months) in [
            ("2024-01-15", "2026-01-14", 23),
            ("2024-01-15", "2026-01-15", 24),
            ("2024-01-31", "2024-02-29", 0),
            ("2024-01-31", "2024-03-01", 1),
            ("2025-12-31", "2026-01-01", 0),
            ("2026-03-01", "2026-03-01T10:00:00Z", 0),
            ("2026-03-01", "2026-02-28T10:00:00Z", 0),
            ("2024-02-29", "2025-02-28", 11),
            ("2024-02-29", "2025-03-01", 12),
        ] {
            assert_eq!(between(born, now), months, "{born} {now}");
        }
    }
}
