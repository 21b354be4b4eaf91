//! Parts of statements that a connection prepares once. Statements with `diesel::dsl::sql`, and on SQLite with
//! `eq_any`, are prepared for each call, which takes as long as reading a hundred events.

use diesel::expression::ValidGrouping;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Text};
use serde::Serialize;

use crate::{AnyConnection, Id, MultiBackend};

/// A constant SQL expression.
#[derive(Clone, Copy, Debug, ValidGrouping)]
pub(crate) struct ConstantSql(pub(crate) &'static str);

impl Expression for ConstantSql {
    type SqlType = BigInt;
}

impl<Q> AppearsOnTable<Q> for ConstantSql {}

impl<Q> SelectableExpression<Q> for ConstantSql {}

impl QueryId for ConstantSql {
    type QueryId = ();
    /// The cache of statements uses the text as the key.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<MultiBackend> for ConstantSql {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

/// A condition with a list of values.
#[derive(Clone, Debug, ValidGrouping)]
pub struct IsOneOf {
    column: &'static str,
    sql: (&'static str, &'static str),
    /// The values as the database reads them from a text.
    list: String,
}

impl Expression for IsOneOf {
    type SqlType = Bool;
}

impl<Q> AppearsOnTable<Q> for IsOneOf {}

impl QueryId for IsOneOf {
    type QueryId = ();
    /// The cache of statements uses the text as the key.
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<MultiBackend> for IsOneOf {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql(self.column);
        out.push_sql(self.sql.0);
        out.push_bind_param::<Text, _>(&self.list)?;
        out.push_sql(self.sql.1);
        Ok(())
    }
}

const ON_SQLITE: (&str, &str) = (" IN (SELECT value FROM json_each(", "))");

/// The condition for rows whose number, in this column, is one of these.
pub fn has_number(c: &AnyConnection, column: &'static str, numbers: &[i64]) -> IsOneOf {
    let list = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let (sql, list) = match c {
        AnyConnection::Sqlite(_) => (ON_SQLITE, format!("[{list}]")),
        AnyConnection::Postgres(_) => ((" = ANY (CAST(", " AS BIGINT[]))"), format!("{{{list}}}")),
    };
    IsOneOf { column, sql, list }
}

/// The condition for rows whose id, in this column, is one of these.
pub fn has_id(c: &AnyConnection, column: &'static str, ids: &[Id]) -> IsOneOf {
    let list = |quote: &str| ids.iter().map(|id| format!("{quote}{id}{quote}")).collect::<Vec<_>>().join(",");
    let (sql, list) = match c {
        AnyConnection::Sqlite(_) => {
            ((" IN (SELECT unhex(value, '-') FROM json_each(", "))"), format!("[{}]", list("\"")))
        }
        AnyConnection::Postgres(_) => ((" = ANY (CAST(", " AS UUID[]))"), format!("{{{}}}", list(""))),
    };
    IsOneOf { column, sql, list }
}

/// The condition for rows whose text, in this column, is one of these.
pub fn has_text<T: AsRef<str> + Serialize>(c: &AnyConnection, column: &'static str, texts: &[T]) -> IsOneOf {
    let sql = match c {
        AnyConnection::Sqlite(_) => ON_SQLITE,
        AnyConnection::Postgres(_) => (" = ANY (ARRAY(SELECT json_array_elements_text(CAST(", " AS JSON))))"),
    };
    IsOneOf { column, sql, list: serde_json::json!(texts).to_string() }
}
