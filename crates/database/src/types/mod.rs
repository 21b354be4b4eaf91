//! Column types that SQLite and PostgreSQL store without loss: ids, timestamps, amounts and JSON documents.

mod amount;
mod columns;
mod id;
mod json;
mod sql_types;
mod timestamp;

pub use amount::{Amount, AmountError};
pub use id::Id;
pub use json::Json;
pub use sql_types::{IdSql, JsonSql, TimestampSql};
pub use timestamp::Timestamp;
