//! Rows in an order, merged from several queries that have no row in common.
//!
//! A condition such as "organiser or carrier" makes a database read and sort all matches. Two queries, each in index
//! order, are merged by both databases, which stop after the page.

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::connection::DefaultLoadingMode;
use diesel::deserialize::FromSqlRow;
use diesel::expression::QueryMetadata;
use diesel::internal::derives::multiconnection::AstPassHelper;
use diesel::pg::{Pg, PgQueryBuilder};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryBuilder, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteQueryBuilder};

use super::keyset::{Position, SortOrder};
use super::sort_key::{Nulls, SortType, SortValue};
use super::sort_key::{ROW_NUMBER, SORT_KEY};
use crate::types::{IdSql, Json, JsonSql, TimestampSql};
use crate::{AnyConnection, Id, MultiBackend};

/// The last row of a page up to which each server of Citus sends documents, instead of keys for all servers to look up.
/// The look-up costs another statement for each part of a table.
const MAX_DISTRIBUTED_PAGE_END: i64 = 250;

/// Some rows of all branches, in order. Each branch selects `id` and a [`SortKey`](super::SortKey).
#[derive(Debug)]
pub struct MergedQuery<Q, F = NoCondition> {
    branches: Vec<Q>,
    sort_type: SortType,
    order: String,
    /// The order of a single branch.
    branch_order: String,
    limit: i64,
    offset: i64,
    cache_statement: bool,
    /// How many rows of the branches are read, and the condition for those that count.
    scan: Option<(i64, F)>,
}

/// No condition on merged rows.
#[derive(Clone, Copy, Debug)]
pub struct NoCondition;

impl QueryFragment<MultiBackend> for NoCondition {
    fn walk_ast<'b>(&'b self, _: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        Ok(())
    }
}

impl<Q: QueryFragment<MultiBackend>> MergedQuery<Q> {
    /// The rows from `offset`, at most `limit`.
    pub fn new<E>(branches: Vec<Q>, order: &SortOrder<E>, limit: i64, offset: i64) -> Self {
        let direction = if order.desc { "DESC" } else { "ASC" };
        let by = |nulls_last| {
            let nulls = if nulls_last { " NULLS LAST" } else { "" };
            format!("{SORT_KEY} {direction}{nulls}, id {direction}")
        };
        // PostgreSQL reads an index backwards only for an order without NULLS LAST.
        let branch_order = by(order.nulls == Nulls::Mixed);
        let order_of_all =
            if branches.len() == 1 { branch_order.clone() } else { by(order.nulls != Nulls::Never) };
        Self {
            branches,
            sort_type: order.sort_type,
            order: order_of_all,
            branch_order,
            limit,
            offset,
            cache_statement: false,
            scan: None,
        }
    }

    /// Reads only the first `max_scanned` rows, and selects among them those that meet a condition on columns that
    /// every branch selects. The work is bounded even if few rows meet it, but rows may be missing unless the page is
    /// full.
    pub fn filter_first<F>(self, max_scanned: i64, condition: F) -> MergedQuery<Q, F> {
        let Self { branches, sort_type, order, branch_order, limit, offset, cache_statement, scan: _ } = self;
        let scan = Some((max_scanned, condition));
        MergedQuery { branches, sort_type, order, branch_order, limit, offset, cache_statement, scan }
    }
}

impl<Q: QueryFragment<MultiBackend>, F: QueryFragment<MultiBackend>> MergedQuery<Q, F> {
    /// With `true`, connections keep the statement prepared even if Diesel does not know that its text is one of few.
    /// A connection keeps each statement for a thousand uses, with 5 to 20 kB on SQLite.
    #[must_use]
    pub fn cache_statement(mut self, yes: bool) -> Self {
        self.cache_statement = yes;
        self
    }

    /// The documents with their positions. Each branch selects `document` too.
    ///
    /// # Errors
    /// Those of the database.
    pub fn load(&self, c: &mut AnyConnection) -> QueryResult<Vec<(Json, Position)>> {
        self.load_columns("document, id", None, c)
    }

    /// As [`load`](Self::load), but reads the documents from `table` once the page is known: they are not sorted with
    /// their keys, and an index that has all other columns suffices. Each branch selects `id` and a
    /// [`RowSortKey`](super::RowSortKey).
    ///
    /// # Errors
    /// Those of the database.
    pub fn load_with_documents(
        &self,
        table: &str,
        c: &mut AnyConnection,
    ) -> QueryResult<Vec<(Json, Position)>> {
        if c.is_distributed() {
            // Branches have the documents. Each server sends those of its own page, unless that is too large.
            let is_small = self.limit.saturating_add(self.offset) <= MAX_DISTRIBUTED_PAGE_END;
            return self.load_columns("document, id", (!is_small).then_some(table), c);
        }
        let (key, page_key) = match c {
            AnyConnection::Sqlite(_) => ("rowid", ROW_NUMBER),
            AnyConnection::Postgres(_) => ("id", "id"),
        };
        self.load_columns(
            &format!("(SELECT document FROM {table} WHERE {table}.{key} = page.{page_key}) AS document, id"),
            None,
            c,
        )
    }

    fn load_columns(
        &self,
        columns: &str,
        documents: Option<&str>,
        c: &mut AnyConnection,
    ) -> QueryResult<Vec<(Json, Position)>> {
        let rows: Vec<(Json, Id, Option<SortValue>)> = match self.sort_type {
            SortType::Timestamp => {
                self.typed::<(JsonSql, IdSql, Nullable<TimestampSql>)>(columns, documents, c)?.load(c)
            }
            SortType::Text => self.typed::<(JsonSql, IdSql, Nullable<Text>)>(columns, documents, c)?.load(c),
            SortType::Number => {
                self.typed::<(JsonSql, IdSql, Nullable<BigInt>)>(columns, documents, c)?.load(c)
            }
            SortType::Float => {
                self.typed::<(JsonSql, IdSql, Nullable<Double>)>(columns, documents, c)?.load(c)
            }
        }?;
        Ok(rows.into_iter().map(|(document, id, value)| (document, (value, id))).collect())
    }

    /// The ids, and the position of the last row.
    ///
    /// # Errors
    /// Those of the database.
    pub fn load_ids(&self, c: &mut AnyConnection) -> QueryResult<(Vec<Id>, Option<Position>)> {
        match self.sort_type {
            SortType::Timestamp => self.load_typed_ids::<Nullable<TimestampSql>>(c),
            SortType::Text => self.load_typed_ids::<Nullable<Text>>(c),
            SortType::Number => self.load_typed_ids::<Nullable<BigInt>>(c),
            SortType::Float => self.load_typed_ids::<Nullable<Double>>(c),
        }
    }

    fn load_typed_ids<K>(&self, c: &mut AnyConnection) -> QueryResult<(Vec<Id>, Option<Position>)>
    where
        MultiBackend: QueryMetadata<(IdSql, K)>,
        (Id, Option<SortValue>): FromSqlRow<(IdSql, K), MultiBackend>,
        K: 'static,
    {
        let (mut ids, mut last) = (Vec::new(), None);
        let query = self.typed::<(IdSql, K)>("id", None, c)?;
        for row in query.load_iter::<(Id, Option<SortValue>), DefaultLoadingMode>(c)? {
            let (id, value) = row?;
            ids.push(id);
            last = Some((value, id));
        }
        Ok((ids, last))
    }

    fn typed<'a, T>(
        &'a self,
        columns: &str,
        documents: Option<&'a str>,
        c: &AnyConnection,
    ) -> QueryResult<TypedQuery<'a, Q, F, T>> {
        // PostgreSQL merges branches in index order only if each is ordered and limited itself. SQLite merges them
        // without that, and would sort the rows of a limited branch again.
        let is_limited = self.branches.len() > 1 && matches!(c, AnyConnection::Postgres(_));
        let branch_limit = is_limited.then(|| match &self.scan {
            Some((max_scanned, _)) => *max_scanned,
            None => self.limit.saturating_add(self.offset),
        });
        let columns = format!("{columns}, {SORT_KEY}");
        let mut query =
            TypedQuery { query: self, columns, documents, branch_limit, text: None, row: PhantomData };
        query.text = Some(query.build_text(c)?);
        Ok(query)
    }
}

/// The statement of a [`MergedQuery`], with the SQL types `T` of its columns.
struct TypedQuery<'q, Q, F, T> {
    query: &'q MergedQuery<Q, F>,
    columns: String,
    /// The table to join for the column `document`. The branches are read without it.
    documents: Option<&'q str>,
    branch_limit: Option<i64>,
    /// The text of the statement, once it is built.
    text: Option<String>,
    row: PhantomData<T>,
}

impl<Q, F, T> TypedQuery<'_, Q, F, T>
where
    Self: QueryFragment<MultiBackend>,
{
    /// Builds the text of the statement. Diesel asks a query of several backends for its text three times.
    fn build_text(&self, c: &AnyConnection) -> QueryResult<String> {
        type Builder = <MultiBackend as Backend>::QueryBuilder;
        let (mut builder, backend) = match c {
            AnyConnection::Sqlite(_) => {
                (Builder::Sqlite(SqliteQueryBuilder::default()), MultiBackend::Sqlite(Sqlite))
            }
            AnyConnection::Postgres(_) => {
                (Builder::Postgres(PgQueryBuilder::default()), MultiBackend::Postgres(Pg))
            }
        };
        self.to_sql(&mut builder, &backend)?;
        Ok(builder.finish())
    }
}

impl<Q: QueryFragment<MultiBackend>, F, T> TypedQuery<'_, Q, F, T> {
    fn walk_branch<'b>(&'b self, branch: &'b Q, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        if self.documents.is_none() {
            return branch.walk_ast(out);
        }
        out.push_sql("SELECT id, ");
        out.push_sql(SORT_KEY);
        out.push_sql(" FROM (");
        branch.walk_ast(out.reborrow())?;
        out.push_sql(") AS keys");
        Ok(())
    }
}

impl<Q, F, T> QueryId for TypedQuery<'_, Q, F, T> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q, F, T> Query for TypedQuery<'_, Q, F, T> {
    type SqlType = T;
}

impl<Q, F, T> RunQueryDsl<AnyConnection> for TypedQuery<'_, Q, F, T> {}

impl<Q, F, T> QueryFragment<MultiBackend> for TypedQuery<'_, Q, F, T>
where
    Q: QueryFragment<MultiBackend>,
    F: QueryFragment<MultiBackend>,
{
    fn is_safe_to_cache_prepared(&self, backend: &MultiBackend) -> QueryResult<bool> {
        for branch in &self.query.branches {
            if !self.query.cache_statement && !branch.is_safe_to_cache_prepared(backend)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        if let Some(text) = &self.text
            && out.bind_collector().is_none()
            && out.debug_binds().is_none()
        {
            out.push_sql(text);
            return Ok(());
        }
        let MergedQuery { branches, order, branch_order, limit, offset, scan, .. } = self.query;
        out.push_sql("SELECT ");
        out.push_sql(&self.columns);
        out.push_sql(" FROM (");
        if scan.is_some() {
            out.push_sql("SELECT * FROM (");
        }
        for (i, branch) in branches.iter().enumerate() {
            if i > 0 {
                out.push_sql(" UNION ALL ");
            }
            let Some(branch_limit) = &self.branch_limit else {
                self.walk_branch(branch, out.reborrow())?;
                continue;
            };
            out.push_sql("SELECT * FROM (");
            self.walk_branch(branch, out.reborrow())?;
            out.push_sql(" ORDER BY ");
            out.push_sql(branch_order);
            out.push_sql(" LIMIT ");
            out.push_bind_param::<BigInt, _>(branch_limit)?;
            out.push_sql(") AS branch");
        }
        // Inside the parentheses, or SQLite sorts all rows before it cuts the page. The outer SELECT only drops
        // columns: neither database reorders what it reads from a sorted subquery.
        out.push_sql(" ORDER BY ");
        out.push_sql(order);
        if let Some((max_scanned, condition)) = scan {
            out.push_sql(" LIMIT ");
            out.push_bind_param::<BigInt, _>(max_scanned)?;
            out.push_sql(") AS scanned WHERE ");
            condition.walk_ast(out.reborrow())?;
        }
        out.push_sql(" LIMIT ");
        out.push_bind_param::<BigInt, _>(limit)?;
        out.push_sql(" OFFSET ");
        out.push_bind_param::<BigInt, _>(offset)?;
        out.push_sql(") AS page");
        if let Some(table) = self.documents {
            // The names of the columns differ from those of the page, so that the order needs no prefix.
            out.push_sql(" JOIN (SELECT id AS document_id, document FROM ");
            out.push_sql(table);
            out.push_sql(") AS documents ON document_id = id ORDER BY ");
            out.push_sql(order);
        }
        Ok(())
    }
}
