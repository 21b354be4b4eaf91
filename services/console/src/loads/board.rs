//! The query of the board: its days, and what its columns are.

use chrono::{Days, NaiveDate};

use crate::api::with_query;
use crate::fields::Fields;
use crate::format::{Clock, monday, parse_date};

const STATUSES: &str = "upcoming,collected,completed,rejected";

/// What the columns of a board are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Haulier,
    Driver,
}

impl By {
    /// Returns the word in addresses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Haulier => "haulier",
            Self::Driver => "driver",
        }
    }
}

/// The days of a board, and what its columns are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoardQuery {
    pub(crate) first: NaiveDate,
    pub(crate) last: NaiveDate,
    /// `None`: what most of the loads suggest.
    pub(crate) by: Option<By>,
}

impl BoardQuery {
    /// Reads the query of an address. Without a day, it is today.
    pub(crate) fn parse(fields: &Fields, clock: Clock) -> Self {
        let day = |name: &str| fields.find(name).and_then(parse_date);
        let (first, last) = match (day("week"), day("day")) {
            (Some(day), _) => (monday(day), monday(day) + Days::new(6)),
            (None, day) => {
                let day = day.unwrap_or_else(|| clock.today());
                (day, day)
            }
        };
        let by = match fields.get("by") {
            "driver" => Some(By::Driver),
            "haulier" => Some(By::Haulier),
            _ => None,
        };
        Self { first, last, by }
    }

    /// Returns the filters of the API.
    pub(crate) fn dates(&self, clock: Clock) -> [(&'static str, String); 3] {
        [
            ("startDateISO", clock.from(self.first)),
            ("endDateISO", clock.until(self.last)),
            ("f:status", STATUSES.to_owned()),
        ]
    }

    /// Returns the days, as people read them.
    pub(crate) fn title(&self, clock: Clock) -> String {
        if self.is_week() {
            format!("{} to {}", clock.day(self.first), clock.day(self.last))
        } else {
            clock.day(self.first)
        }
    }

    /// Returns true for a week.
    pub(crate) fn is_week(&self) -> bool {
        self.first != self.last
    }

    /// Returns the query of the same board on or around another day.
    pub(crate) fn pairs(&self, by: Option<By>, day: NaiveDate) -> Vec<(&'static str, String)> {
        let span = if self.is_week() { "week" } else { "day" };
        let mut pairs = vec![(span, day.to_string())];
        pairs.extend(by.or(self.by).map(|by| ("by", by.name().to_owned())));
        pairs
    }

    /// Returns the address of the same board on or around another day.
    pub(crate) fn path(&self, by: Option<By>, day: NaiveDate) -> String {
        let pairs = self.pairs(by, day);
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        with_query("/board", &pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock { zone: chrono_tz::Europe::London };

    #[test]
    fn days_and_weeks_are_those_of_the_zone() {
        let query = |text: &str| BoardQuery::parse(&Fields::parse(text.as_bytes()), CLOCK);
        let week = query("week=2026-08-05&by=driver");
        assert_eq!(
            (week.first.to_string().as_str(), week.is_week(), week.by),
            ("2026-08-03", true, Some(By::Driver))
        );
        assert_eq!(week.dates(CLOCK)[1].1, "2026-08-09T22:59:59.999Z");
        assert_eq!(week.path(None, week.first), "/board?week=2026-08-03&by=driver");
        let day = query("day=Wed+5+Aug+2026");
        assert_eq!(day.path(Some(By::Haulier), day.first), "/board?day=2026-08-05&by=haulier");
        assert_eq!(query("day=soon").first, CLOCK.today());
    }
}
