//! A page of documents in an order, from one query or from several that have no row in common.
//!
//! "Mine as organiser or mine as carrier" as one condition makes a database read and sort all of either. As two
//! queries put together, each in index order, both databases merge them and stop after the page.

use std::marker::PhantomData;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

use crate::types::{IdSql, JsonSql};
use crate::{AnyConnection, MultiBackend};

/// The column `document` of so many rows of all branches, sorted; or their ids and what they are sorted by.
#[derive(Debug)]
pub struct MergedQuery<Q, T = JsonSql> {
    branches: Vec<Q>,
    columns: String,
    order: String,
    /// The order of a single branch.
    branch_order: String,
    limit: i64,
    offset: i64,
    /// How far a branch is read at most, where the planner must be told.
    reach: Option<i64>,
    /// See [`MergedQuery::kept`].
    kept: bool,
    rows: PhantomData<T>,
}

impl<Q> MergedQuery<Q> {
    /// Each branch selects `document`, `id` and the column sorted by, and nothing is in two of them. Ties are
    /// broken by id.
    pub fn new(c: &AnyConnection, branches: Vec<Q>, by: OrderBy, limit: i64, offset: i64) -> Self {
        Self::of("document".into(), c, branches, by, limit, offset)
    }
}

impl<Q, K> MergedQuery<Q, (IdSql, K)> {
    /// As [`MergedQuery::new`], but what is given is the id and the column sorted by; branches need not select more.
    pub fn keys(c: &AnyConnection, branches: Vec<Q>, by: OrderBy, limit: i64, offset: i64) -> Self {
        Self::of(format!("id, {}", by.column), c, branches, by, limit, offset)
    }
}

impl<Q, K> MergedQuery<Q, (JsonSql, IdSql, K)> {
    /// As [`MergedQuery::keys`], with the documents too, each read from this table once the page is known: documents are
    /// not sorted with their keys, and an index that has all else suffices.
    pub fn with_documents(
        c: &AnyConnection,
        table: &'static str,
        branches: Vec<Q>,
        by: OrderBy,
        limit: i64,
        offset: i64,
    ) -> Self {
        let document = format!("(SELECT document FROM {table} WHERE {table}.id = page.id) AS document");
        Self::of(format!("{document}, id, {}", by.column), c, branches, by, limit, offset)
    }
}

impl<Q, T> MergedQuery<Q, T> {
    fn of(
        columns: String,
        c: &AnyConnection,
        branches: Vec<Q>,
        by: OrderBy,
        limit: i64,
        offset: i64,
    ) -> Self {
        let OrderBy { column, missing, desc } = by;
        let direction = if desc { "DESC" } else { "ASC" };
        let order = |last: &str| format!("{column} {direction}{last}, id {direction}");
        let last = |yes| if yes { " NULLS LAST" } else { "" };
        let (branch_order, order) =
            (order(last(missing == Nulls::Mixed)), order(last(missing != Nulls::Never)));
        // PostgreSQL merges branches in index order only if each is ordered and limited itself; SQLite merges them
        // anyway, and would sort what comes out of a limited one once more.
        let told = branches.len() > 1 && matches!(c, AnyConnection::Postgres(_));
        let reach = told.then(|| limit.saturating_add(offset));
        Self { branches, columns, order, branch_order, limit, offset, reach, kept: false, rows: PhantomData }
    }

    /// With `true` connections keep the statement prepared, whatever Diesel makes of its parts: there must be few such
    /// statements, since each connection keeps what it saw for a thousand uses (5 to 20 kB each on SQLite).
    #[must_use]
    pub fn cache_statement(mut self, few: bool) -> Self {
        self.kept = few;
        self
    }
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// The name of the column, a constant of the code.
    pub column: &'static str,
    /// Which rows may lack a value; they come last both ways.
    pub missing: Nulls,
    /// Descending.
    pub desc: bool,
}

/// Where the rows are that lack a value to be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// There are none.
    Never,
    /// Among the others.
    Mixed,
    /// In branches of their own: PostgreSQL has no index whose descending order ends with them.
    Apart,
}

impl<Q, T> QueryId for MergedQuery<Q, T> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q, T> Query for MergedQuery<Q, T> {
    type SqlType = T;
}

impl<Q, T> RunQueryDsl<AnyConnection> for MergedQuery<Q, T> {}

impl<Q: QueryFragment<MultiBackend>, T> QueryFragment<MultiBackend> for MergedQuery<Q, T> {
    fn is_safe_to_cache_prepared(&self, backend: &MultiBackend) -> QueryResult<bool> {
        for branch in &self.branches {
            if !self.kept && !branch.is_safe_to_cache_prepared(backend)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        out.push_sql(&self.columns);
        out.push_sql(" FROM (");
        for (i, branch) in self.branches.iter().enumerate() {
            if i > 0 {
                out.push_sql(" UNION ALL ");
            }
            let Some(reach) = &self.reach else {
                branch.walk_ast(out.reborrow())?;
                continue;
            };
            out.push_sql("SELECT * FROM (");
            branch.walk_ast(out.reborrow())?;
            out.push_sql(" ORDER BY ");
            out.push_sql(&self.branch_order);
            out.push_sql(" LIMIT ");
            out.push_bind_param::<BigInt, _>(reach)?;
            out.push_sql(") AS branch");
        }
        // Within the parentheses, or SQLite sorts all rows before it cuts the page. The outer SELECT only drops
        // columns: neither database reorders what it reads from a sorted subquery (the order tests would tell).
        out.push_sql(" ORDER BY ");
        out.push_sql(&self.order);
        out.push_sql(" LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)?;
        out.push_sql(" OFFSET ");
        out.push_bind_param::<BigInt, _>(&self.offset)?;
        out.push_sql(") AS page");
        Ok(())
    }
}
