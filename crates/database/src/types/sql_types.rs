//! SQL types of the columns that [`Id`](super::Id), [`Timestamp`](super::Timestamp) and [`Json`](super::Json) are
//! stored in.

use diesel::query_builder::QueryId;
use diesel::sql_types::SqlType;

/// SQL type of [`Id`](super::Id): `uuid` on PostgreSQL, BLOB on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 2950, array_oid = 2951), sqlite_type(name = "Binary"))]
pub struct IdSql;

/// SQL type of [`Timestamp`](super::Timestamp): `timestamptz` on PostgreSQL, INTEGER (Unix milliseconds) on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 1184, array_oid = 1185), sqlite_type(name = "Long"))]
pub struct TimestampSql;

/// SQL type of [`Json`](super::Json): `json` on PostgreSQL, TEXT on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 114, array_oid = 199), sqlite_type(name = "Text"))]
pub struct JsonSql;
