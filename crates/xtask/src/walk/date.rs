//! Today, without a calendar library.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, short enough to read aloud: unique for each walk.
pub fn stamp() -> String {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string()
}

/// The date of tomorrow in UTC, such as `2026-03-01`.
pub fn tomorrow() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    date(seconds / 86_400 + 1)
}

/// The Gregorian date of a day counted from 1970-01-01.
fn date(mut day: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (day, text) in [
            (0, "1970-01-01"),
            (364, "1970-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_513, "2026-03-01"),
        ] {
            assert_eq!(date(day), text);
        }
    }
}
