//! Column types that both databases keep exactly: ids, instants, amounts, documents.

mod amount;
mod columns;
mod timestamp;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use amount::{Amount, AmountError};
pub use columns::{IdSql, JsonSql, TimestampSql};
pub use timestamp::Timestamp;

/// A `UUIDv7`: `uuid` on PostgreSQL, 16 bytes on SQLite. Later ids sort after earlier ones.
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
    /// A new id, made from the present time and random bits.
    #[expect(clippy::new_without_default, reason = "a default that differs each time would surprise")]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// The id in its canonical form (lower case, hyphenated); anything else names nothing.
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

/// A JSON document as its text: `json` on PostgreSQL, TEXT on SQLite. Member order and numbers stay as written,
/// so a stored answer is sent as it is.
#[derive(Clone, Debug, PartialEq, Eq, diesel::expression::AsExpression, diesel::deserialize::FromSqlRow)]
#[diesel(sql_type = JsonSql)]
pub struct Json(pub String);

impl Json {
    /// Writes a value as JSON.
    ///
    /// # Errors
    /// Only for values that JSON cannot hold, such as maps with keys that are no strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self)
    }

    /// Reads the document back.
    ///
    /// # Errors
    /// If the document has another shape.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}
