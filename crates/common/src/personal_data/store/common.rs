//! The records of users in the tables that every service has.

use database::{AnyConnection, Id, Json, Timestamp};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use serde_json::json;

use super::BATCH_SIZE;
use crate::Error;
use crate::personal_data::model::{Erasure, Record, RecordKind, RecordQuery};
use crate::schema::due_shares::{self, dsl as s};

/// The kinds of records of the tables that every service has.
pub(in crate::personal_data) const COMMON_KINDS: [RecordKind; 2] = [
    RecordKind { name: "pendingShares", list: list_shares, erase: delete_shares },
    RecordKind { name: "idempotencyKeys", list: list_keys, erase: delete_keys },
];

/// Lists shares that are still due, without their tokens.
fn list_shares(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let rows: Vec<(Id, Id, Json, Json, Timestamp)> = s::due_shares
        .filter(s::user_id.eq(&query.user_id))
        .filter(s::id.gt(query.after_id()))
        .order(s::id)
        .limit(query.limit)
        .select((s::id, s::subject_id, s::file_ids, s::organisations, s::created_at))
        .load(c)?;
    let record = |(id, subject, files, organisations, at): (Id, Id, Json, Json, Timestamp)| {
        let (files, organisations): (Vec<Id>, serde_json::Value) = (files.parse()?, organisations.parse()?);
        let share = json!({ "subjectId": subject, "fileIds": files, "organisations": organisations, "createdAtUTC": at });
        Record::new(id, &share)
    };
    rows.into_iter().map(record).collect()
}

/// Deletes shares that are still due: they have a token of the user.
fn delete_shares(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let of_user = s::due_shares.filter(s::user_id.eq(&erasure.user_id)).order(s::id);
    let ids: Vec<Id> = of_user.limit(BATCH_SIZE).select(s::id).load(c)?;
    Ok(diesel::delete(due_shares::table.filter(s::id.eq_any(ids))).execute(c)?)
}

/// A key of the table of idempotency keys.
#[derive(QueryableByName)]
struct KeyRow {
    #[diesel(sql_type = Text)]
    operation: String,
    #[diesel(sql_type = Text)]
    caller: String,
    #[diesel(sql_type = Text)]
    key: String,
    #[diesel(sql_type = database::TimestampSql)]
    created_at: Timestamp,
}

/// The condition for the keys of a user, whose caller begins with the user id. On PostgreSQL the order of these
/// operators, which an index has, does not depend on the database's collation.
fn condition(c: &AnyConnection) -> &'static str {
    match c {
        AnyConnection::Sqlite(_) => "caller >= $1 AND caller < $2",
        AnyConnection::Postgres(_) => "caller ~>=~ $1 AND caller ~<~ $2",
    }
}

/// Returns the bounds of the callers with this user id: JSON arrays of it and an organisation.
fn callers(user_id: &str) -> (String, String) {
    let array = json!([user_id]).to_string();
    let head = array.trim_end_matches(']');
    // The character after a comma is a hyphen.
    (format!("{head},"), format!("{head}-"))
}

/// Lists idempotency keys. Their responses are copies of other records.
fn list_keys(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let (from, to) = callers(&query.user_id);
    let after = query.after.as_deref().map(serde_json::from_str).transpose()?;
    let [after_caller, after_operation, after_key]: [String; 3] = after.unwrap_or_default();
    let select = format!(
        "SELECT operation, caller, key, created_at FROM idempotency_keys \
         WHERE {} AND (caller, operation, key) > ($3, $4, $5) ORDER BY caller, operation, key LIMIT $6",
        condition(c)
    );
    let rows: Vec<KeyRow> = database::dispatch!(c, c => diesel::sql_query(select)
        .bind::<Text, _>(from)
        .bind::<Text, _>(to)
        .bind::<Text, _>(after_caller)
        .bind::<Text, _>(after_operation)
        .bind::<Text, _>(after_key)
        .bind::<BigInt, _>(query.limit)
        .load(c))?;
    let record = |KeyRow { operation, caller, key, created_at }: KeyRow| {
        let [user, organisation]: [String; 2] = serde_json::from_str(&caller)?;
        let record = json!({
            "operation": operation, "key": key, "userId": user, "organisationId": organisation,
            "createdAtUTC": created_at,
        });
        Record::new(json!([caller, operation, key]), &record)
    };
    rows.into_iter().map(record).collect()
}

fn delete_keys(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let (from, to) = callers(&erasure.user_id);
    let delete = format!(
        "DELETE FROM idempotency_keys WHERE (caller, operation, key) IN \
         (SELECT caller, operation, key FROM idempotency_keys WHERE {} LIMIT {BATCH_SIZE})",
        condition(c)
    );
    Ok(database::dispatch!(c, c => diesel::sql_query(delete)
        .bind::<Text, _>(from)
        .bind::<Text, _>(to)
        .execute(c))?)
}
