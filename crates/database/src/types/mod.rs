//! Column types that SQLite and PostgreSQL store without loss: ids, timestamps, amounts and JSON documents.

mod amount;
mod columns;
mod timestamp;

use diesel::query_builder::QueryId;
use diesel::sql_types::SqlType;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use amount::{Amount, AmountError};
pub use timestamp::{SERVER_NOW, Timestamp, shared_now};

/// A JSON document as text, stored as `json` on PostgreSQL and as TEXT on SQLite.
///
/// Both keep the order of members and the spelling of numbers, so a stored response is sent without parsing it.
#[derive(Clone, Debug, PartialEq, Eq, diesel::expression::AsExpression, diesel::deserialize::FromSqlRow)]
#[diesel(sql_type = JsonSql)]
pub struct Json(pub String);

impl Json {
    /// Serializes a value.
    ///
    /// # Errors
    /// Fails for values that JSON cannot represent, such as maps whose keys are not strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self)
    }

    /// Deserializes the document.
    ///
    /// # Errors
    /// Fails if the document does not match `T`.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

/// A UUID of version 7, stored as `uuid` on PostgreSQL and as 16 bytes on SQLite.
///
/// Ids sort by creation time, to the millisecond.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    diesel::expression::AsExpression,
    diesel::deserialize::FromSqlRow,
)]
#[diesel(sql_type = IdSql)]
#[serde(transparent)]
pub struct Id(pub Uuid);

impl Id {
    /// The id before all others, which no row has.
    pub const NIL: Self = Self(Uuid::nil());

    /// Creates an id from the current time and random bits.
    #[expect(clippy::new_without_default, reason = "`Default` should return the same value each time")]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// Returns another id, which differs from this one in the last byte only. `variant` is from 1.
    #[must_use]
    pub fn variant(self, variant: u8) -> Self {
        let mut bytes = *self.0.as_bytes();
        bytes[15] ^= variant;
        Self(Uuid::from_bytes(bytes))
    }

    /// Parses the hyphenated form of 36 characters, in any case. Returns `None` for every other text, including other
    /// forms of a UUID (docs/api/conventions.md).
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text)
            .ok()
            .filter(|id| text.len() == 36 && id.to_string().eq_ignore_ascii_case(text))
            .map(Self)
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// SQL type of [`Id`]: `uuid` on PostgreSQL, BLOB on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 2950, array_oid = 2951), sqlite_type(name = "Binary"))]
pub struct IdSql;

/// SQL type of [`Timestamp`]: `timestamptz` on PostgreSQL, INTEGER (Unix milliseconds) on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 1184, array_oid = 1185), sqlite_type(name = "Long"))]
pub struct TimestampSql;

/// SQL type of [`Json`]: `json` on PostgreSQL, TEXT on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 114, array_oid = 199), sqlite_type(name = "Text"))]
pub struct JsonSql;
