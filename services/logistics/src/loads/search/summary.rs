//! The sums of loads (docs/api/loads.md, "Sums").

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Offset, TimeZone};
use chrono_tz::Tz;
use common::validation::{Code, ValidationErrors};
use common::wire::QueryText;
use common::{Error, Format};
use database::{Amount, Json};
use serde::{Deserialize, Serialize};
use tables::{RowWriter, TableCell};
use utoipa::{IntoParams, ToSchema};

use super::LoadSearch;
use super::parameters::LoadFilters;

/// The most groups of a response.
pub(super) const MAX_GROUPS: usize = 500;
/// The key of loads without the organisation by which they are grouped.
pub(super) const NO_KEY: &str = "none";

/// Query parameters of the sums, besides [`LoadFilters`].
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct SummaryParams {
    /// What the loads of a group have in common. Without it, there is only the total.
    #[param(inline)]
    group_by: Option<GroupBy>,
    /// The date of `day`, `week` and `month`.
    #[param(inline)]
    date_by: DateBy,
    /// The IANA time zone of dates, by default Europe/London.
    #[param(example = "Europe/London")]
    time_zone: Option<QueryText>,
    /// `JSON`, `CSV` or `XLSX`, in any case; by default what the `Accept` header prefers, else JSON.
    format: Option<QueryText>,
    /// `true`: CSV begins with a byte order mark, which Excel needs.
    bom: bool,
    #[serde(flatten)]
    #[param(ignore)]
    filters: LoadFilters,
}

/// What the loads of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GroupBy {
    Commodity,
    Carrier,
    Organiser,
    Status,
    Day,
    /// The ISO week.
    Week,
    Month,
}

/// The date of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DateBy {
    /// The delivery date.
    #[default]
    Delivery,
    /// The time of completion. Loads that are not completed are left out.
    Completion,
}

/// The sums to read.
#[derive(Clone, Debug)]
pub(crate) struct SummarySearch {
    pub loads: LoadSearch,
    pub group_by: Option<GroupBy>,
    pub date_by: DateBy,
    pub time_zone: Tz,
}

impl SummaryParams {
    /// Returns the sums to read, and adds invalid parameters to `errors`. `accepted` is the format that the `Accept`
    /// header prefers.
    pub(crate) fn parse(&self, accepted: Format, errors: &mut ValidationErrors) -> SummarySearch {
        let format = Format::named(self.format.as_deref(), &Format::ALL, accepted, errors).with_bom(self.bom);
        let time_zone = match self.time_zone.as_deref().filter(|name| !name.is_empty()).map(str::parse) {
            None => Tz::Europe__London,
            Some(Ok(time_zone)) => time_zone,
            Some(Err(_)) => {
                errors.push("timeZone", Code::Enum, "must be an IANA time zone, such as Europe/London");
                Tz::Europe__London
            }
        };
        SummarySearch {
            loads: self.filters.parse(format, errors),
            group_by: self.group_by,
            date_by: self.date_by,
            time_zone,
        }
    }
}

impl SummarySearch {
    /// Returns the least and the greatest offset of the time zone since 1972, in seconds.
    pub(super) fn offsets(&self) -> (i64, i64) {
        let offset = |day: i64| {
            let at = DateTime::from_timestamp(day * 86_400, 0).unwrap_or_default();
            i64::from(self.time_zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc())
        };
        // From 1972 to 2100. No offset is in force for less than ten days.
        let offsets = (730..47_482).step_by(10).map(offset);
        offsets.fold((0, 0), |(least, greatest), offset| (least.min(offset), greatest.max(offset)))
    }
}

impl GroupBy {
    /// Returns true for groups by date.
    pub(super) fn is_date(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month)
    }

    /// Returns the key of an instant, in seconds since 1970.
    fn key(self, seconds: i64, time_zone: Tz) -> String {
        let day =
            DateTime::from_timestamp(seconds, 0).unwrap_or_default().with_timezone(&time_zone).date_naive();
        match self {
            Self::Month => day.format("%Y-%m").to_string(),
            Self::Week => format!("{:04}-W{:02}", day.iso_week().year(), day.iso_week().week()),
            _ => day.format("%Y-%m-%d").to_string(),
        }
    }
}

/// Sums of some loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub count: i64,
    /// In ten-thousandths of a tonne.
    pub weight: i64,
    pub weight_net: i64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.weight += other.weight;
        self.weight_net += other.weight_net;
    }
}

/// The sums of a group as the database returns them.
pub(super) struct GroupRow {
    /// The key. Of groups by date: a quarter hour of the date, counted since 1970.
    pub key: Option<String>,
    pub name: Option<String>,
    pub sums: Sums,
}

/// The sums of the matches of a search.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LoadSummary {
    /// The sums of all matches.
    total: Total,
    /// At most 500: dates ascending, others by net weight, then by weight, descending. Absent without `groupBy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub groups: Option<Vec<Group>>,
    /// `true` if there are more groups. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    truncated: bool,
}

/// Sums of loads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = LoadSums)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Total {
    /// The number of loads.
    count: i64,
    /// The sum of the agreed weights in tonnes.
    #[schema(value_type = f64)]
    weight: Amount,
    /// The sum of the net weights in tonnes.
    #[schema(value_type = f64)]
    weight_net: Amount,
}

/// The sums of a group.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = LoadGroup)]
pub(crate) struct Group {
    /// The id of the commodity or the organisation, `none` without one; the status; or the date: `2026-03-01`,
    /// `2026-W09`, `2026-03`.
    key: String,
    /// The name of the commodity or the organisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Its sums.
    #[serde(flatten)]
    sums: Total,
}

impl Total {
    fn of(sums: Sums) -> Result<Self, Error> {
        let amount = |scaled| {
            Amount::from_scaled(scaled).ok_or_else(|| Error::Internal(anyhow::anyhow!("a sum is too large")))
        };
        Ok(Self { count: sums.count, weight: amount(sums.weight)?, weight_net: amount(sums.weight_net)? })
    }
}

impl LoadSummary {
    /// Returns the summary of all groups, or of the first ones in their order.
    pub(super) fn new(search: &SummarySearch, total: Sums, rows: Vec<GroupRow>) -> Result<Self, Error> {
        let total = Total::of(total)?;
        let Some(group_by) = search.group_by else {
            return Ok(Self { total, groups: None, truncated: false });
        };
        let rows = if group_by.is_date() { by_date(group_by, search.time_zone, rows) } else { rows };
        let truncated = rows.len() > MAX_GROUPS;
        let group = |row: GroupRow| {
            let key = row.key.unwrap_or_else(|| NO_KEY.to_owned());
            Ok(Group { name: row.name, key, sums: Total::of(row.sums)? })
        };
        let groups = rows.into_iter().take(MAX_GROUPS).map(group).collect::<Result<Vec<_>, Error>>()?;
        Ok(Self { total, groups: Some(groups), truncated })
    }

    /// Returns the rows of a table: the groups, or else the total.
    pub(crate) fn into_rows(self) -> Result<Vec<Json>, Error> {
        let total = || vec![Group { key: "total".to_owned(), name: None, sums: self.total }];
        self.groups.unwrap_or_else(total).iter().map(|group| Ok(Json::of(group)?)).collect()
    }
}

/// The columns of a table of sums.
pub(crate) const COLUMNS: &[&str] = &["key", "name", "count", "weight", "weightNet"];

/// Writes the row of a group.
pub(crate) fn write_row(document: &Json, rows: &mut RowWriter) -> Result<(), Error> {
    let Group { key, name, sums } = document.parse()?;
    let numbers = [sums.count.to_string(), sums.weight.to_string(), sums.weight_net.to_string()];
    let texts = [TableCell::text(&key), TableCell::text(name.as_deref().unwrap_or_default())];
    rows.row(texts.into_iter().chain(numbers.iter().map(|number| TableCell::number(number))));
    Ok(())
}

/// Adds up the quarter hours of each date; loads without a time come last. The offsets of all time zones since 1972
/// are whole quarter hours.
fn by_date(group_by: GroupBy, time_zone: Tz, rows: Vec<GroupRow>) -> Vec<GroupRow> {
    let mut dates: BTreeMap<String, Sums> = BTreeMap::new();
    for row in rows {
        let quarter = row.key.and_then(|key| key.parse::<i64>().ok());
        let key = quarter.map_or_else(|| NO_KEY.to_owned(), |quarter| group_by.key(quarter * 900, time_zone));
        dates.entry(key).or_default().add(row.sums);
    }
    dates.into_iter().map(|(key, sums)| GroupRow { key: Some(key), name: None, sums }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_time_zone() {
        let key = |group_by: GroupBy, at: &str, time_zone: Tz| {
            group_by.key(at.parse::<DateTime<chrono::Utc>>().unwrap().timestamp(), time_zone)
        };
        for (at, time_zone, expected) in [
            // The clocks change on 29 March and on 25 October 2026.
            ("2026-03-28T23:59:59Z", Tz::Europe__London, ["2026-03-28", "2026-W13", "2026-03"]),
            ("2026-03-29T23:00:00Z", Tz::Europe__London, ["2026-03-30", "2026-W14", "2026-03"]),
            ("2026-10-24T22:59:59Z", Tz::Europe__London, ["2026-10-24", "2026-W43", "2026-10"]),
            ("2026-10-25T23:30:00Z", Tz::Europe__London, ["2026-10-25", "2026-W43", "2026-10"]),
            ("2027-01-01T12:00:00Z", Tz::UTC, ["2027-01-01", "2026-W53", "2027-01"]),
            ("2026-12-31T18:15:00Z", Tz::Asia__Kathmandu, ["2027-01-01", "2026-W53", "2027-01"]),
        ] {
            let keys = [GroupBy::Day, GroupBy::Week, GroupBy::Month].map(|by| key(by, at, time_zone));
            assert_eq!(keys, expected, "{at} {time_zone}");
        }
    }
}
