//! The query of the sums of loads.

use std::collections::HashMap;

use common::{Caller, Error};
use database::{AnyConnection, MultiBackend, Timestamp, TimestampSql};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, Text};

use super::plan::{CommoditySql, SearchPlan, matches, roles};
use crate::loads::search::summary::{
    DateBy, GroupBy, GroupRow, LoadSummary, MAX_GROUPS, SummarySearch, Sums,
};
use crate::schema::loads::dsl as l;

/// The status is in the indexes that have all that sums need: `loads_organiser_delivery` and `loads_carrier_delivery`
/// on SQLite, `loads_organiser_sums_by_date` and `loads_carrier_sums_by_date` on PostgreSQL.
const NOT_CANCELLED: &str = "loads.status <> 'cancelled'";

/// Reads the sums of the matches of a search, with one statement, and the names of groups.
///
/// # Errors
/// If the database fails.
pub(crate) fn summarize(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &SummarySearch,
) -> Result<LoadSummary, Error> {
    let plan = SearchPlan::new(c, caller, &search.loads)?;
    let plan = SearchPlan { skips_dates: false, not_cancelled: NOT_CANCELLED, ..plan };
    let is_by_date = search.group_by.is_some_and(GroupBy::is_date);
    let key = GroupKey::new(c, search)?;
    let columns = || {
        (
            sql::<Nullable<Text>>(&format!("{} AS group_key", key.sql)),
            sql::<Nullable<BigInt>>("weight"),
            sql::<Nullable<BigInt>>("weight_net"),
            sql::<Nullable<TimestampSql>>("created_at"),
        )
    };
    let roles = roles(caller, &search.loads);
    let branches =
        roles.iter().map(|role| matches(caller, *role, &search.loads, &plan).select(columns())).collect();
    let limit = if is_by_date { i64::MAX } else { i64::try_from(MAX_GROUPS + 1).unwrap_or(i64::MAX) };
    let rows: Vec<Row> = Grouped { branches, key_text: key.text, limit }.load(c)?;
    let total = rows.first().map_or_else(Sums::default, |(.., total)| sums(*total));
    let mut names = HashMap::new();
    if let Some(name) = &key.name {
        let newest: Vec<Timestamp> = rows.iter().map(|(_, newest, ..)| *newest).collect();
        for role in roles {
            let newest_loads =
                matches(caller, *role, &search.loads, &plan).filter(l::created_at.eq_any(&newest)).select((
                    sql::<Nullable<Text>>(&key.text.replace("group_key", &key.sql)),
                    l::created_at,
                    sql::<Nullable<Text>>(name),
                ));
            let found: Vec<(Option<String>, Timestamp, Option<String>)> = newest_loads.load(c)?;
            names.extend(found.into_iter().map(|(key, at, name)| ((key, at), name)));
        }
    }
    let rows = rows.into_iter().map(|(key, newest, own, _)| {
        let name = key.as_ref().and_then(|_| names.remove(&(key.clone(), newest))).flatten();
        GroupRow { name, key, sums: sums(own) }
    });
    LoadSummary::new(search, total, rows.collect())
}

/// What the loads of a group have in common, as SQL.
struct GroupKey {
    sql: String,
    /// The text of `group_key`. Of dates: the quarter hours since 1970.
    text: &'static str,
    /// The name of a group, in the document of each of its loads: that of the newest one is shown.
    name: Option<String>,
}

impl GroupKey {
    fn new(c: &mut AnyConnection, search: &SummarySearch) -> Result<Self, Error> {
        let is_sqlite = matches!(c, AnyConnection::Sqlite(_));
        let name_of = |member: &str| {
            Some(if is_sqlite {
                format!("json_extract(document, '$.{member}.name')")
            } else {
                format!("document #>> '{{{member},name}}'")
            })
        };
        let (key, name) = match search.group_by {
            None => ("CAST(NULL AS TEXT)".to_owned(), None),
            Some(GroupBy::Status) => ("status".to_owned(), None),
            Some(GroupBy::Carrier) => ("carrier_id".to_owned(), name_of("carrier")),
            Some(GroupBy::Organiser) => ("organiser_id".to_owned(), name_of("organiser")),
            Some(GroupBy::Commodity) => (CommoditySql::new(c)?.id.to_owned(), name_of("commodity")),
            Some(GroupBy::Day | GroupBy::Week | GroupBy::Month) => {
                let at = if search.date_by == DateBy::Completion { "completed_at" } else { "delivery_at" };
                if is_sqlite {
                    (day_sqlite(at, search.offsets()), None)
                } else {
                    let text = "CAST(CAST(extract(epoch FROM group_key) / 900 AS BIGINT) AS TEXT)";
                    return Ok(Self { sql: day_postgres(at, search.offsets()), text, name: None });
                }
            }
        };
        Ok(Self { sql: key, text: "CAST(group_key AS TEXT)", name })
    }
}

const QUARTER: i64 = 900;
const DAY: i64 = 86_400;
/// Added to times, so that SQLite divides no negative ones.
const DAYS_BEFORE_1970: i64 = 1_000_000;

/// Returns the number of the quarter hour in which the day of an instant begins in a time zone with these least and
/// greatest offsets in seconds; near midnight, where the day depends on the offset, the number of its own quarter hour.
fn day_sqlite(at: &str, (least, greatest): (i64, i64)) -> String {
    let begin = DAYS_BEFORE_1970 * DAY;
    let day = |offset: i64| format!("({at} + {}) / {}", (begin + offset) * 1_000, DAY * 1_000);
    format!(
        "CASE WHEN {0} = {1} THEN {0} * {2} - {3} ELSE ({at} + {4}) / {5} - {6} END",
        day(least),
        day(greatest),
        DAY / QUARTER,
        (begin + least) / QUARTER,
        begin * 1_000,
        QUARTER * 1_000,
        begin / QUARTER,
    )
}

/// As [`day_sqlite`], as the instant.
fn day_postgres(at: &str, (least, greatest): (i64, i64)) -> String {
    let bin = |interval: &str, offset: i64| {
        let origin = Timestamp::from_millis(-offset * 1_000).map_or_else(String::new, |at| at.to_string());
        format!("date_bin(INTERVAL '{interval}', {at}, TIMESTAMPTZ '{origin}')")
    };
    if greatest - least >= DAY {
        return bin("15 minutes", 0);
    }
    format!(
        "CASE WHEN {0} >= {1} THEN {0} ELSE {2} END",
        bin("1 day", least),
        bin("1 day", greatest),
        bin("15 minutes", 0),
    )
}

/// The number of loads, and the sums of their weights.
type SumColumns = (i64, i64, i64);

fn sums((count, weight, weight_net): SumColumns) -> Sums {
    Sums { count, weight, weight_net }
}

/// A group: its key, when its newest load was created, its sums, and those of all groups.
type Row = (Option<String>, Timestamp, SumColumns, SumColumns);

/// Groups of matches, those of the greatest weights first.
struct Grouped<Q> {
    /// Select `group_key`, `weight`, `weight_net` and `created_at`. No load is in two of them.
    branches: Vec<Q>,
    /// The SQL of the key of a group.
    key_text: &'static str,
    limit: i64,
}

impl<Q> QueryId for Grouped<Q> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q> Query for Grouped<Q> {
    type SqlType = (Nullable<Text>, TimestampSql, (BigInt, BigInt, BigInt), (BigInt, BigInt, BigInt));
}

impl<Q> RunQueryDsl<AnyConnection> for Grouped<Q> {}

impl<Q: QueryFragment<MultiBackend>> QueryFragment<MultiBackend> for Grouped<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        out.push_sql(self.key_text);
        out.push_sql(
            " AS key, newest, loads, weight, weight_net, CAST(sum(loads) OVER () AS BIGINT), \
             CAST(sum(weight) OVER () AS BIGINT), CAST(sum(weight_net) OVER () AS BIGINT) FROM (\
             SELECT group_key, max(newest) AS newest, CAST(sum(loads) AS BIGINT) AS loads, \
             CAST(sum(weight) AS BIGINT) AS weight, CAST(sum(weight_net) AS BIGINT) AS weight_net FROM (",
        );
        for (index, branch) in self.branches.iter().enumerate() {
            if index > 0 {
                out.push_sql(" UNION ALL ");
            }
            out.push_sql(
                "SELECT group_key, max(created_at) AS newest, count(*) AS loads, coalesce(sum(weight), 0) AS weight, \
                 coalesce(sum(weight_net), 0) AS weight_net FROM (",
            );
            branch.walk_ast(out.reborrow())?;
            out.push_sql(") AS matches GROUP BY group_key");
        }
        out.push_sql(
            ") AS parts GROUP BY group_key) AS sums ORDER BY weight_net DESC, weight DESC, key LIMIT ",
        );
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}
