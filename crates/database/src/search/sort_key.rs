//! Sort keys: the type of their values, and where rows without a value come.

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::{AppearsOnTable, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Text, Untyped};
use serde::{Deserialize, Serialize};

use crate::citus::is_distributed;
use crate::{MultiBackend, Timestamp, TimestampSql};

/// The type of a sort key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortType {
    /// Timestamps; in a cursor their milliseconds since 1970.
    Timestamp,
    /// Texts in lower case.
    Text,
    /// Whole numbers, or amounts in ten-thousandths.
    Number,
    /// Floating-point numbers that are not negative; in a cursor their bits, which sort as the numbers do.
    Float,
}

/// Which rows lack a value. They come last in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// None.
    Never,
    /// Some rows of a branch.
    Mixed,
    /// All rows of a branch of their own. PostgreSQL yields them first when it reads an index backwards, so a mixed
    /// branch would have to be sorted.
    Apart,
}

/// The value of a row's sort key, as in a cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, FromSqlRow)]
#[serde(untagged)]
pub enum SortValue {
    /// A value of any [`SortType`] except text: milliseconds, a number, or the bits of a floating-point number.
    Integer(i64),
    /// A value of [`SortType::Text`].
    Text(String),
}

impl SortValue {
    /// Returns the value of a number for [`SortType::Float`]. The number must not be negative or NaN.
    pub(crate) fn from_float(number: f64) -> Self {
        // The sum is 0.0 for -0.0, whose bits are negative.
        Self::Integer((number + 0.0).to_bits().cast_signed())
    }

    /// Returns true if a key of this type can have the value. A cursor comes from a client, which may have changed it.
    pub fn is_of(&self, sort_type: SortType) -> bool {
        BoundValue::new(self.clone(), sort_type).is_some()
    }
}

/// A sort value in the type that is bound to a statement.
#[derive(Debug)]
pub(crate) enum BoundValue {
    Timestamp(Timestamp),
    Text(String),
    Number(i64),
    Float(f64),
}

impl BoundValue {
    /// Converts a value, or returns `None` if no key of this type has it.
    pub(crate) fn new(value: SortValue, sort_type: SortType) -> Option<Self> {
        Some(match (value, sort_type) {
            (SortValue::Integer(millis), SortType::Timestamp) => {
                Self::Timestamp(Timestamp::from_millis(millis)?)
            }
            (SortValue::Integer(number), SortType::Number) => Self::Number(number),
            (SortValue::Integer(bits), SortType::Float) => {
                let number = f64::from_bits(bits.cast_unsigned());
                if number.is_nan() || number.is_sign_negative() {
                    return None;
                }
                Self::Float(number)
            }
            // No stored text has NUL, and PostgreSQL refuses to compare with it.
            (SortValue::Text(text), SortType::Text) if !text.contains('\0') => Self::Text(text),
            _ => return None,
        })
    }

    /// Binds the value as a parameter of the statement.
    pub(crate) fn bind<'b>(&'b self, out: &mut AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        match self {
            Self::Timestamp(value) => out.push_bind_param::<TimestampSql, _>(value),
            Self::Text(value) => out.push_bind_param::<Text, _>(value),
            Self::Number(value) => out.push_bind_param::<BigInt, _>(value),
            Self::Float(value) => out.push_bind_param::<Double, _>(value),
        }
    }
}

type RawValue<'a> = <MultiBackend as diesel::backend::Backend>::RawValue<'a>;

impl FromSql<TimestampSql, MultiBackend> for SortValue {
    fn from_sql(value: RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<TimestampSql, MultiBackend>::from_sql(value)
            .map(|timestamp: Timestamp| Self::Integer(timestamp.millis()))
    }
}

impl FromSql<Text, MultiBackend> for SortValue {
    fn from_sql(value: RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<Text, MultiBackend>::from_sql(value).map(Self::Text)
    }
}

impl FromSql<BigInt, MultiBackend> for SortValue {
    fn from_sql(value: RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<BigInt, MultiBackend>::from_sql(value).map(Self::Integer)
    }
}

impl FromSql<Double, MultiBackend> for SortValue {
    fn from_sql(value: RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<Double, MultiBackend>::from_sql(value).map(Self::from_float)
    }
}

/// A column of the table that the branches read, as a sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column(pub &'static str);

impl QueryFragment<MultiBackend> for Column {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

/// The name under which every branch of a [`MergedQuery`](super::MergedQuery) selects its sort key.
pub(super) const SORT_KEY: &str = "sort_key";
/// The name under which a [`RowSortKey`] selects the number of the row.
pub(super) const ROW_NUMBER: &str = "row_number";

/// A sort key, as a column of a branch's result.
#[derive(Clone, Copy, Debug)]
pub struct SortKey<E>(pub E);

impl<E: QueryFragment<MultiBackend>> QueryFragment<MultiBackend> for SortKey<E> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" AS ");
        out.push_sql(SORT_KEY);
        Ok(())
    }
}

impl<E> Expression for SortKey<E> {
    /// Branches are not loaded themselves.
    type SqlType = Untyped;
}
impl<E, T> AppearsOnTable<T> for SortKey<E> {}
impl<E, T> SelectableExpression<T> for SortKey<E> {}
impl<E> ValidGrouping<()> for SortKey<E> {
    type IsAggregate = is_aggregate::Never;
}
impl<E> QueryId for SortKey<E> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// A [`SortKey`], and what [`load_with_documents`](super::MergedQuery::load_with_documents) needs: on SQLite the number
/// of the row (`rowid`), which every index has and which finds the row faster than its id; with Citus the document.
#[derive(Clone, Copy, Debug)]
pub struct RowSortKey<E>(pub E);

impl<E: QueryFragment<MultiBackend>> QueryFragment<MultiBackend> for RowSortKey<E> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" AS ");
        out.push_sql(SORT_KEY);
        match out.backend() {
            MultiBackend::Sqlite(_) => {
                out.push_sql(", rowid AS ");
                out.push_sql(ROW_NUMBER);
            }
            MultiBackend::Postgres(_) if is_distributed() => out.push_sql(", document"),
            MultiBackend::Postgres(_) => {}
        }
        Ok(())
    }
}

impl<E> Expression for RowSortKey<E> {
    /// Branches are not loaded themselves.
    type SqlType = Untyped;
}
impl<E, T> AppearsOnTable<T> for RowSortKey<E> {}
impl<E, T> SelectableExpression<T> for RowSortKey<E> {}
impl<E> ValidGrouping<()> for RowSortKey<E> {
    type IsAggregate = is_aggregate::Never;
}
impl<E> QueryId for RowSortKey<E> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SORT_TYPES: [SortType; 4] =
        [SortType::Timestamp, SortType::Text, SortType::Number, SortType::Float];

    /// Returns the value that a row with this bound value has.
    fn stored(value: BoundValue) -> SortValue {
        match value {
            BoundValue::Timestamp(timestamp) => SortValue::Integer(timestamp.millis()),
            BoundValue::Text(text) => SortValue::Text(text),
            BoundValue::Number(number) => SortValue::Integer(number),
            BoundValue::Float(number) => SortValue::from_float(number),
        }
    }

    fn types_of(value: &SortValue) -> Vec<SortType> {
        SORT_TYPES.into_iter().filter(|sort_type| value.is_of(*sort_type)).collect()
    }

    #[test]
    fn accepts_exactly_the_values_that_keys_can_have() {
        use SortType::{Float, Number, Text, Timestamp};
        for (number, types) in [
            (0, &[Timestamp, Number, Float][..]),
            (-1, &[Timestamp, Number]),
            (i64::MAX, &[Number]),
            (i64::MIN, &[Number]),
            ((-1.5_f64).to_bits().cast_signed(), &[Number]),
            (f64::NAN.to_bits().cast_signed(), &[Number]),
            (1.5_f64.to_bits().cast_signed(), &[Number, Float]),
        ] {
            assert_eq!(types_of(&SortValue::Integer(number)), types, "{number}");
        }
        for (text, types) in
            [("", &[Text][..]), ("ä 🐄", &[Text]), ("\0", &[]), ("a\0b", &[]), ("a\nb", &[Text])]
        {
            assert_eq!(types_of(&SortValue::Text(text.into())), types, "{text:?}");
        }
        assert_eq!(SortValue::from_float(-0.0), SortValue::Integer(0));
    }

    proptest! {
        #[test]
        fn accepts_every_value_that_can_be_bound_and_no_other(
            number: i64, float in 0.0..=f64::MAX, text in any::<String>(), index in 0..SORT_TYPES.len(),
        ) {
            let sort_type = SORT_TYPES[index];
            for value in [SortValue::Integer(number), SortValue::from_float(float), SortValue::Text(text)] {
                let bound = BoundValue::new(value.clone(), sort_type);
                prop_assert_eq!(value.is_of(sort_type), bound.is_some());
                // A row with this key gives the same value, so the next cursor is accepted too.
                prop_assert_eq!(bound.map(stored).unwrap_or(value.clone()), value);
            }
            prop_assert!(SortValue::from_float(float).is_of(SortType::Float));
        }
    }
}
