//! Conversion of the column types to and from each database.

use std::io::Write;

use chrono::DateTime;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::pg::Pg;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, HasSqlType, Text, Timestamptz, Uuid as PgUuid};
use diesel::sqlite::Sqlite;
use uuid::Uuid;

use super::timestamp::Timestamp;
use super::{Id, IdSql, Json, JsonSql, TimestampSql};
use crate::MultiBackend;

/// Implements a column type for [`MultiBackend`] by delegating to the backend of the connection.
macro_rules! impl_multi_backend {
    ($sql:ty, $rust:ty) => {
        impl HasSqlType<$sql> for MultiBackend {
            fn metadata(lookup: &mut Self::MetadataLookup) -> Self::TypeMetadata {
                MultiBackend::lookup_sql_type::<$sql>(lookup)
            }
        }
        impl FromSql<$sql, MultiBackend> for $rust {
            fn from_sql(value: <MultiBackend as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
                value.from_sql::<$rust, $sql>()
            }
        }
        impl ToSql<$sql, MultiBackend> for $rust {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, MultiBackend>) -> serialize::Result {
                out.set_value((<$sql as Default>::default(), self));
                Ok(IsNull::No)
            }
        }
    };
}
impl_multi_backend!(IdSql, Id);
impl_multi_backend!(TimestampSql, Timestamp);
impl_multi_backend!(JsonSql, Json);

impl ToSql<IdSql, Pg> for Id {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<PgUuid, Pg>::to_sql(&self.0, out)
    }
}
impl FromSql<IdSql, Pg> for Id {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<PgUuid, Pg>::from_sql(value).map(Self)
    }
}
impl ToSql<IdSql, Sqlite> for Id {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(&self.0.as_bytes()[..]);
        Ok(IsNull::No)
    }
}
impl FromSql<IdSql, Sqlite> for Id {
    fn from_sql(mut value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(Uuid::from_slice(value.read_blob())?))
    }
}

impl ToSql<TimestampSql, Pg> for Timestamp {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<Timestamptz, Pg>::to_sql(&self.0, &mut out.reborrow())
    }
}
impl FromSql<TimestampSql, Pg> for Timestamp {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<Timestamptz, Pg>::from_sql(value).map(Self)
    }
}
impl ToSql<TimestampSql, Sqlite> for Timestamp {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.timestamp_millis());
        Ok(IsNull::No)
    }
}
impl FromSql<TimestampSql, Sqlite> for Timestamp {
    fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        let millis = <i64 as FromSql<BigInt, Sqlite>>::from_sql(value)?;
        DateTime::from_timestamp_millis(millis)
            .map(Self)
            .ok_or_else(|| "the timestamp is out of range".into())
    }
}

impl ToSql<JsonSql, Pg> for Json {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(self.0.as_bytes())?;
        Ok(IsNull::No)
    }
}
impl FromSql<JsonSql, Pg> for Json {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(std::str::from_utf8(value.as_bytes())?.to_owned()))
    }
}
impl ToSql<JsonSql, Sqlite> for Json {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_str());
        Ok(IsNull::No)
    }
}
impl FromSql<JsonSql, Sqlite> for Json {
    fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        <String as FromSql<Text, Sqlite>>::from_sql(value).map(Self)
    }
}
