//! The SQL of a [`MergedQuery`].

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::internal::derives::multiconnection::AstPassHelper;
use diesel::pg::{Pg, PgQueryBuilder};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryBuilder, QueryFragment, QueryId};
use diesel::sql_types::BigInt;
use diesel::sqlite::{Sqlite, SqliteQueryBuilder};

use super::MergedQuery;
use crate::search::sort_key::SORT_KEY;
use crate::{AnyConnection, MultiBackend};

/// The statement of a [`MergedQuery`], with the SQL types `T` of its columns.
pub(super) struct TypedQuery<'q, Q, F, T> {
    pub(super) query: &'q MergedQuery<Q, F>,
    pub(super) columns: String,
    /// The table to join for the column `document`. The branches are read without it.
    pub(super) documents: Option<&'q str>,
    pub(super) branch_limit: Option<i64>,
    /// The text of the statement, once it is built.
    pub(super) text: Option<String>,
    pub(super) row: PhantomData<T>,
}

impl<Q, F, T> TypedQuery<'_, Q, F, T>
where
    Self: QueryFragment<MultiBackend>,
{
    /// Builds the text of the statement. Diesel asks a query of several backends for its text three times.
    pub(super) fn build_text(&self, c: &AnyConnection) -> QueryResult<String> {
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
