//! The query of the sums of loads.

use common::{Caller, Error};
use database::{AnyConnection, MultiBackend};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, Text};

use super::plan::{SearchPlan, matches};
use crate::loads::search::DriverFilter;
use crate::loads::search::summary::{
    DateBy, GroupBy, GroupRow, LoadSummary, MAX_GROUPS, SummarySearch, Sums,
};
use crate::loads::store::Role;
use crate::schema::loads::dsl as l;

/// Reads the sums of the matches of a search, with one statement.
///
/// # Errors
/// If the database fails.
pub(crate) fn summarize(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &SummarySearch,
) -> Result<LoadSummary, Error> {
    let plan = SearchPlan { skips_dates: false, ..SearchPlan::new(c, caller, &search.loads)? };
    let is_driver = search.loads.driver == Some(DriverFilter::Caller);
    let role = if is_driver { Role::Driver } else { Role::Any };
    let mut matches = matches(caller, role, &search.loads, &plan);
    let is_by_date = search.group_by.is_some_and(GroupBy::is_date);
    if is_by_date && search.date_by == DateBy::Completion {
        matches = matches.filter(l::completed_at.is_not_null());
    }
    let [key, name] = columns(matches!(c, AnyConnection::Sqlite(_)), search);
    let weights = (sql::<Nullable<BigInt>>("weight"), sql::<Nullable<BigInt>>("weight_net"));
    let selected = (
        sql::<Nullable<Text>>(&format!("{key} AS group_key")),
        sql::<Nullable<Text>>(&format!("{name} AS group_name")),
        weights,
    );
    let limit = if is_by_date { i64::MAX } else { i64::try_from(MAX_GROUPS + 1).unwrap_or(i64::MAX) };
    let rows: Vec<Row> = Grouped { matches: matches.select(selected), limit }.load(c)?;
    let total = rows.first().map_or_else(Sums::default, |(.., total)| sums(*total));
    let rows = rows.into_iter().map(|(key, name, own, _)| GroupRow { key, name, sums: sums(own) });
    LoadSummary::new(search, total, rows.collect())
}

/// Returns the SQL of the keys and names of groups.
fn columns(is_sqlite: bool, search: &SummarySearch) -> [String; 2] {
    let none = || "NULL".to_owned();
    let party = |party: &str| {
        let name = if is_sqlite {
            format!("json_extract(document, '$.{party}.name')")
        } else {
            format!("document #>> '{{{party},name}}'")
        };
        [format!("{party}_id"), format!("CASE WHEN {party}_id IS NOT NULL THEN {name} END")]
    };
    match search.group_by {
        None => [none(), none()],
        Some(GroupBy::Status) => ["status".to_owned(), none()],
        Some(GroupBy::Carrier) => party("carrier"),
        Some(GroupBy::Organiser) => party("organiser"),
        Some(GroupBy::Commodity) if is_sqlite => ["id", "name"]
            .map(|member| format!("CAST(json_extract(document, '$.commodity.{member}') AS TEXT)")),
        Some(GroupBy::Commodity) => {
            ["id", "name"].map(|member| format!("document #>> '{{commodity,{member}}}'"))
        }
        Some(GroupBy::Day | GroupBy::Week | GroupBy::Month) => {
            let at = if search.date_by == DateBy::Completion { "completed_at" } else { "delivery_at" };
            // Rounded down also before 1970.
            let quarter = if is_sqlite {
                format!("CAST(({at} - (({at} % 900000) + 900000) % 900000) / 900000 AS TEXT)")
            } else {
                format!("floor(extract(epoch FROM {at}) / 900)::bigint::text")
            };
            [quarter, none()]
        }
    }
}

/// The number of loads, and the sums of their weights.
type SumColumns = (i64, i64, i64);

fn sums((count, weight, weight_net): SumColumns) -> Sums {
    Sums { count, weight, weight_net }
}

/// A group: its key, its name, its sums, and those of all groups.
type Row = (Option<String>, Option<String>, SumColumns, SumColumns);

/// Groups of matches, those of the greatest weights first.
struct Grouped<Q> {
    /// Selects `group_key`, `group_name`, `weight` and `weight_net`.
    matches: Q,
    limit: i64,
}

impl<Q> QueryId for Grouped<Q> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q> Query for Grouped<Q> {
    type SqlType = (Nullable<Text>, Nullable<Text>, (BigInt, BigInt, BigInt), (BigInt, BigInt, BigInt));
}

impl<Q> RunQueryDsl<AnyConnection> for Grouped<Q> {}

impl<Q: QueryFragment<MultiBackend>> QueryFragment<MultiBackend> for Grouped<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql(
            "SELECT group_key, group_name, loads, weight, weight_net, \
             CAST(sum(loads) OVER () AS BIGINT), CAST(sum(weight) OVER () AS BIGINT), \
             CAST(sum(weight_net) OVER () AS BIGINT) FROM (SELECT group_key, max(group_name) AS group_name, \
             count(*) AS loads, CAST(coalesce(sum(weight), 0) AS BIGINT) AS weight, \
             CAST(coalesce(sum(weight_net), 0) AS BIGINT) AS weight_net FROM (",
        );
        self.matches.walk_ast(out.reborrow())?;
        out.push_sql(
            ") AS matches GROUP BY group_key) AS sums ORDER BY weight_net DESC, weight DESC, group_key LIMIT ",
        );
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}
