//! The sort keys of listings as SQL.

use database::MultiBackend;
use diesel::expression::{AppearsOnTable, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable};

use crate::listings::search::ListingSearch;

/// The sort key of the rows of a branch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SortExpression {
    /// The value of the column with this name.
    Column(&'static str),
    /// The months that a dog has completed on this [day](crate::listings::calendar::day), in ten-thousandths.
    DogAge(i64),
    /// The distance, as a squared chord.
    Distance(SquaredChord),
}

impl QueryFragment<MultiBackend> for SortExpression {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        // The search decides which statements stay prepared.
        out.unsafe_to_cache_prepared();
        match self {
            Self::Column(name) => out.push_sql(name),
            Self::DogAge(today) => {
                out.push_sql("((");
                out.push_bind_param::<BigInt, _>(today)?;
                // `DAYS_PER_MONTH`, and the ten-thousandths of a month.
                out.push_sql(" - born) / 32 * 10000)");
            }
            Self::Distance(chord) => chord.walk_ast(out)?,
        }
        Ok(())
    }
}

/// The squared length of the chord from a unit vector to the location of a listing: the sum that
/// [`squared_chord`](crate::listings::geo::squared_chord) computes. It grows with the distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SquaredChord {
    from: [f64; 3],
    /// The columns with the unit vector of a listing.
    axes: [&'static str; 3],
}

impl SquaredChord {
    /// Returns the chord that a search compares.
    pub(crate) fn of(search: &ListingSearch) -> Self {
        let axes = if search.is_public() { ["public_x", "public_y", "public_z"] } else { ["x", "y", "z"] };
        Self { from: search.origin(), axes }
    }
}

impl QueryFragment<MultiBackend> for SquaredChord {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        let mut separator = "(";
        for (axis, value) in self.axes.into_iter().zip(&self.from) {
            out.push_sql(separator);
            for (before, after) in [("(", ") * "), ("(", ")")] {
                out.push_sql(before);
                out.push_sql(axis);
                out.push_sql(" - ");
                out.push_bind_param::<Double, _>(value)?;
                out.push_sql(after);
            }
            separator = " + ";
        }
        out.push_sql(")");
        Ok(())
    }
}

impl Expression for SquaredChord {
    type SqlType = Nullable<Double>;
}
impl<T> AppearsOnTable<T> for SquaredChord {}
impl<T> SelectableExpression<T> for SquaredChord {}
impl ValidGrouping<()> for SquaredChord {
    type IsAggregate = is_aggregate::Never;
}
impl QueryId for SquaredChord {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}
