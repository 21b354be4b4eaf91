//! Row ids.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::sql_types::IdSql;

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
