//! Keyset pagination: a page begins after the last row of the previous one, at the same cost for every page.

use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::Bool;

use super::sort_key::{BoundValue, Nulls, SortType, SortValue};
use crate::{Id, IdSql, MultiBackend};

/// The order of a search: by a sort key, then by id, both in the same direction.
///
/// `E` is the sort key as an SQL expression of the table that the branches read. It needs parentheses where it is not a
/// single column.
#[derive(Clone, Copy, Debug)]
pub struct SortOrder<E> {
    /// The sort key.
    pub key: E,
    /// The type of its values.
    pub sort_type: SortType,
    /// Which rows lack a value.
    pub nulls: Nulls,
    /// True for a descending order.
    pub desc: bool,
}

/// The last row of a page: the value of its sort key, and its id.
pub type Position = (Option<SortValue>, Id);

impl<E: Copy> SortOrder<E> {
    /// The condition for the rows of a branch that come after `position`. Branches for rows without a value
    /// ([`Nulls::Apart`]) have this condition too: their positions have no value.
    ///
    /// `None` if the value has another type than the sort key.
    pub fn after(&self, (value, id): Position) -> Option<RowsAfter<E>> {
        let value = match value {
            Some(value) => Some(BoundValue::new(value, self.sort_type)?),
            None => None,
        };
        Some(RowsAfter { key: self.key, desc: self.desc, nulls: self.nulls, value, id })
    }
}

/// The rows after a position, as a condition.
#[derive(Debug)]
pub struct RowsAfter<E> {
    key: E,
    desc: bool,
    nulls: Nulls,
    value: Option<BoundValue>,
    id: Id,
}

impl<E: QueryFragment<MultiBackend>> QueryFragment<MultiBackend> for RowsAfter<E> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        let (after, after_or_at) = if self.desc { (" < ", " <= ") } else { (" > ", " >= ") };
        let id = |out: &mut AstPass<'_, 'b, MultiBackend>| {
            out.push_sql("id");
            out.push_sql(after);
            out.push_bind_param::<IdSql, _>(&self.id)
        };
        let compare = |out: &mut AstPass<'_, 'b, MultiBackend>, operator, value: &'b BoundValue| {
            self.key.walk_ast(out.reborrow())?;
            out.push_sql(operator);
            value.bind(out)
        };
        out.push_sql("(");
        match (&self.value, self.nulls) {
            // One comparison that an index can start at, with the ties filtered after it.
            (Some(value), Nulls::Never | Nulls::Apart) => {
                compare(&mut out, after_or_at, value)?;
                out.push_sql(" AND (");
                compare(&mut out, after, value)?;
                out.push_sql(" OR ");
                id(&mut out)?;
                out.push_sql(")");
            }
            (Some(value), Nulls::Mixed) => {
                compare(&mut out, after, value)?;
                out.push_sql(" OR (");
                compare(&mut out, " = ", value)?;
                out.push_sql(" AND ");
                id(&mut out)?;
                out.push_sql(") OR ");
                self.key.walk_ast(out.reborrow())?;
                out.push_sql(" IS NULL");
            }
            (None, Nulls::Mixed) => {
                self.key.walk_ast(out.reborrow())?;
                out.push_sql(" IS NULL AND ");
                id(&mut out)?;
            }
            (None, Nulls::Never | Nulls::Apart) => id(&mut out)?,
        }
        out.push_sql(")");
        Ok(())
    }
}

impl<E> Expression for RowsAfter<E> {
    type SqlType = Bool;
}
impl<E, T> AppearsOnTable<T> for RowsAfter<E> {}
impl<E, T> SelectableExpression<T> for RowsAfter<E> {}
impl<E> ValidGrouping<()> for RowsAfter<E> {
    type IsAggregate = is_aggregate::Never;
}
impl<E> QueryId for RowsAfter<E> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}
