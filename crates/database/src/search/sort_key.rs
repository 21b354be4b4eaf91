//! Sort keys: the type of their values, and where rows without a value come.

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::prelude::*;
use diesel::query_builder::AstPass;
use diesel::sql_types::{BigInt, Double, Text};
use serde::{Deserialize, Serialize};

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
    /// A value of any [`SortType`] except text.
    Number(i64),
    /// A value of [`SortType::Text`].
    Text(String),
}

impl SortValue {
    /// The value of a number that is not negative, for [`SortType::Float`].
    pub fn from_float(number: f64) -> Self {
        Self::Number(number.to_bits().cast_signed())
    }

    /// True if a key of this type can have the value. A cursor comes from a client, which may have changed it.
    pub fn is_of(&self, sort_type: SortType) -> bool {
        match (self, sort_type) {
            (Self::Number(millis), SortType::Timestamp) => Timestamp::from_millis(*millis).is_some(),
            (Self::Number(_), SortType::Number | SortType::Float) => true,
            // No stored text has control characters, and PostgreSQL refuses to compare with NUL.
            (Self::Text(text), SortType::Text) => !text.chars().any(char::is_control),
            _ => false,
        }
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
    /// `None` if the value [is not of](SortValue::is_of) this type.
    pub fn new(value: SortValue, sort_type: SortType) -> Option<Self> {
        Some(match (value, sort_type) {
            (SortValue::Number(millis), SortType::Timestamp) => {
                Self::Timestamp(Timestamp::from_millis(millis)?)
            }
            (SortValue::Number(number), SortType::Number) => Self::Number(number),
            (SortValue::Number(bits), SortType::Float) => Self::Float(f64::from_bits(bits.cast_unsigned())),
            (SortValue::Text(text), SortType::Text) => Self::Text(text),
            _ => return None,
        })
    }

    pub fn bind<'b>(&'b self, out: &mut AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
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
            .map(|timestamp: Timestamp| Self::Number(timestamp.millis()))
    }
}

impl FromSql<Text, MultiBackend> for SortValue {
    fn from_sql(value: RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<Text, MultiBackend>::from_sql(value).map(Self::Text)
    }
}

impl FromSql<BigInt, MultiBackend> for SortValue {
    fn from_sql(value: RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<BigInt, MultiBackend>::from_sql(value).map(Self::Number)
    }
}

impl FromSql<Double, MultiBackend> for SortValue {
    fn from_sql(value: RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<Double, MultiBackend>::from_sql(value).map(Self::from_float)
    }
}
