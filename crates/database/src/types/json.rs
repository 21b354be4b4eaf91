//! JSON documents.

use serde::{Deserialize, Serialize};

use super::sql_types::JsonSql;

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
