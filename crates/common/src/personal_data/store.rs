//! The queries of erasures, those that several kinds of records share, and the records of users in the tables that
//! every service has, and in the references to files of loads and listings, which name who uploaded them.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::model::{
    DOCUMENT_BATCH_SIZE, ERASED_NAME, ERASED_TEXT, Erasure, Record, RecordKind, RecordQuery, erase_in,
};
use crate::auth::ERASED_PREFIX;
use crate::schema::due_shares::{self, dsl as s};
use crate::schema::erasures::{self, dsl as e};
use crate::schema::file_uploaders::{self, dsl as u};
use crate::schema::idempotency_keys::{self, dsl as k};
use crate::{Error, JsonResponse};

/// The most records that one transaction changes without parsing documents.
const BATCH_SIZE: i64 = 500;

/// The columns of a table that identify a user.
#[derive(Clone, Copy)]
pub struct IdentityColumns {
    /// The name of the table.
    pub table: &'static str,
    /// The columns of a unique key, separated by commas: the one that contains the user id, if there is one.
    pub key: &'static str,
    /// The column with the user id. It has an index.
    pub user_id: &'static str,
    /// The column with the name of the same user.
    pub user_name: Option<&'static str>,
    /// The column with a text that the user wrote.
    pub text: Option<&'static str>,
}

impl IdentityColumns {
    /// Erases the user in up to 500 rows. Returns their number.
    ///
    /// The user may get a row again that was erased before the erasure finished: a load is sent to the same driver once
    /// more. Such a row is deleted, because both would have the same unique key.
    ///
    /// # Errors
    /// If the database fails.
    pub fn erase(&self, c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
        let renamed = self.rename(c, erasure)?;
        if renamed > 0 || self.other_columns().is_none() {
            return Ok(renamed);
        }
        // The rows that are left have an erased twin.
        self.delete(c, erasure)
    }

    /// Returns the columns of the unique key besides the user id. `None` if the key does not contain the user id.
    fn other_columns(&self) -> Option<impl Iterator<Item = &'static str>> {
        let user_id = self.user_id;
        let columns = || self.key.split(", ");
        columns().any(|column| column == user_id).then(|| columns().filter(move |column| *column != user_id))
    }

    /// Replaces the user in up to 500 rows, except those whose key another row has then. Returns their number.
    fn rename(&self, c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
        let Self { table, key, user_id, user_name, text } = self;
        // A user without a name stays so.
        let replace = |column: Option<&str>, by: &str| {
            column.map(|column| format!(", {column} = CASE WHEN {column} IS NULL THEN NULL ELSE '{by}' END"))
        };
        let name = replace(*user_name, ERASED_NAME).unwrap_or_default();
        let text = replace(*text, ERASED_TEXT).unwrap_or_default();
        let has_no_twin = self.other_columns().map_or_else(String::new, |others| {
            let is_same =
                others.map(|column| format!(" AND twin.{column} = mine.{column}")).collect::<Vec<_>>();
            let is_same = is_same.concat();
            format!(" AND NOT EXISTS (SELECT 1 FROM {table} AS twin WHERE twin.{user_id} = $1{is_same})")
        });
        let update = format!(
            "UPDATE {table} SET {user_id} = $1{name}{text} WHERE ({key}) IN \
             (SELECT {key} FROM {table} AS mine WHERE {user_id} = $2{has_no_twin} LIMIT {BATCH_SIZE})"
        );
        Ok(database::dispatch!(c, c => diesel::sql_query(update)
            .bind::<Text, _>(&erasure.erased_id)
            .bind::<Text, _>(&erasure.user_id)
            .execute(c))?)
    }

    /// Deletes up to 500 rows of the user. Returns their number.
    fn delete(&self, c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
        let Self { table, key, user_id, .. } = self;
        let delete = format!(
            "DELETE FROM {table} WHERE ({key}) IN \
             (SELECT {key} FROM {table} WHERE {user_id} = $1 LIMIT {BATCH_SIZE})"
        );
        Ok(database::dispatch!(c, c => diesel::sql_query(delete)
            .bind::<Text, _>(&erasure.user_id)
            .execute(c))?)
    }
}

/// Returns the erasure of a user that is not finished, or begins one.
pub(super) fn begin(c: &mut AnyConnection, user_id: &str) -> Result<Erasure, Error> {
    let hash = hash(user_id);
    let row = (
        e::user_hash.eq(&hash),
        e::erased_id.eq(format!("{ERASED_PREFIX}{:032x}", rand::random::<u128>())),
        e::started_at.eq(Timestamp::now()),
    );
    // Of two concurrent inserts, PostgreSQL makes the second wait for the first and run again.
    database::dispatch!(c, c => diesel::insert_into(erasures::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    let erased_id = erasures::table.find(&hash).select(e::erased_id).first(c)?;
    Ok(Erasure { user_id: user_id.to_owned(), erased_id })
}

/// Returns true if there is an erasure of the user that is not finished.
pub(super) fn is_begun(c: &mut AnyConnection, user_id: &str) -> Result<bool, Error> {
    Ok(diesel::select(diesel::dsl::exists(erasures::table.find(hash(user_id)))).get_result(c)?)
}

/// Finishes an erasure.
pub(super) fn finish(c: &mut AnyConnection, user_id: &str) -> Result<(), Error> {
    database::with_secure_delete(c, |c| {
        diesel::delete(erasures::table.find(hash(user_id))).execute(c)?;
        Ok(())
    })
}

fn hash(user_id: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(user_id))
}

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

/// Returns the next files that the user uploaded: the load or listing, and the file.
fn uploads(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<(Id, Id)>, Error> {
    let (subject, file) = query.after_pair();
    let after = u::subject_id.gt(subject).or(u::file_id.gt(file));
    // The first condition begins the scan of the primary key.
    let rows = u::file_uploaders
        .filter(u::user_id.eq(&query.user_id))
        .filter(u::subject_id.ge(subject))
        .filter(after)
        .order((u::subject_id, u::file_id))
        .limit(query.limit)
        .select((u::subject_id, u::file_id));
    Ok(rows.load(c)?)
}

/// Where documents of loads and listings have files.
const FILE_LISTS: [&str; 3] = ["/files", "/collection/files", "/rejection/files"];

/// Lists the references to files that the user uploaded. `documents` returns the documents of some loads or listings,
/// and `member` is the member of the export with the id of the load or listing.
///
/// # Errors
/// Those of `documents`, and if the database fails.
pub fn list_file_references(
    c: &mut AnyConnection,
    query: &RecordQuery,
    member: &str,
    documents: impl FnOnce(&mut AnyConnection, &[Id]) -> Result<Vec<(Id, Json)>, Error>,
) -> Result<Vec<Record>, Error> {
    let uploads = uploads(c, query)?;
    let mut subjects: Vec<Id> = uploads.iter().map(|(subject, _)| *subject).collect();
    subjects.dedup();
    let mut files = BTreeMap::new();
    for (subject, document) in documents(c, &subjects)? {
        let document: Value = document.parse()?;
        let lists = FILE_LISTS.iter().filter_map(|list| document.pointer(list)?.as_array()).flatten();
        files.insert(subject, lists.cloned().collect::<Vec<_>>());
    }
    let record = |(subject, id): (Id, Id)| {
        let is_file = |file: &&Value| file["id"].as_str().and_then(Id::parse) == Some(id);
        // A load or listing that was edited may have the file no longer.
        let file = files.get(&subject).and_then(|files| files.iter().find(is_file));
        let file = file.cloned().unwrap_or_else(|| json!({ "id": id }));
        Record::new(format!("{subject} {id}"), &json!({ member: subject, "file": file }))
    };
    uploads.into_iter().map(record).collect()
}

/// Erases the user as the uploader of up to 100 files. `rewrite` erases the names of the uploader in the documents of a
/// load or listing; it gets the ids of its files, in lower case. Returns the number of files.
///
/// # Errors
/// Those of `rewrite`, and if the database fails.
pub fn erase_file_references(
    c: &mut AnyConnection,
    erasure: &Erasure,
    mut rewrite: impl FnMut(&mut AnyConnection, Id, &BTreeSet<String>) -> Result<(), Error>,
) -> Result<usize, Error> {
    let user_id = erasure.user_id.clone();
    let uploads = uploads(c, &RecordQuery { user_id, after: None, limit: DOCUMENT_BATCH_SIZE })?;
    let mut files = BTreeMap::<Id, BTreeSet<String>>::new();
    for (subject, file) in &uploads {
        files.entry(*subject).or_default().insert(file.to_string());
    }
    for (subject, files) in files {
        rewrite(c, subject, &files)?;
        erase_in_responses(c, subject, erasure, &files)?;
    }
    for (subject, file) in &uploads {
        // The file may have been added again since a part of this erasure that was committed.
        diesel::delete(file_uploaders::table.find((&erasure.erased_id, *subject, *file))).execute(c)?;
        diesel::update(file_uploaders::table.find((&erasure.user_id, *subject, *file)))
            .set(u::user_id.eq(&erasure.erased_id))
            .execute(c)?;
    }
    Ok(uploads.len())
}

/// Erases the names of the uploader in the responses about a load or listing that are kept for repeated requests.
fn erase_in_responses(
    c: &mut AnyConnection,
    subject: Id,
    erasure: &Erasure,
    files: &BTreeSet<String>,
) -> Result<(), Error> {
    let rows: Vec<(String, String, String, Json)> = k::idempotency_keys
        .filter(k::subject_id.eq(subject.to_string()))
        .select((k::caller, k::operation, k::key, k::answer))
        .load(c)?;
    for (caller, operation, key, answer) in rows {
        let mut response: JsonResponse = answer.parse()?;
        let mut body: Value = serde_json::from_str(&response.body)?;
        if erase_in(&mut body, erasure, files) {
            response.body = body.to_string();
            let row = idempotency_keys::table.find((caller, operation, key));
            diesel::update(row).set(k::answer.eq(Json::of(&response)?)).execute(c)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use testkit::{Backend, TestDatabase};

    use super::*;

    testkit::on_both! {
        async fn rows_that_came_back_during_an_erasure_are_deleted(backend) {
            let test = TestDatabase::empty(backend).await;
            let db = crate::schema::tests::open(&test).await;
            let table = if backend == Backend::Postgres { "common.seen" } else { "seen" };
            test.execute(&format!(
                "CREATE TABLE {table} (id INTEGER PRIMARY KEY, thing INTEGER NOT NULL, person TEXT NOT NULL, name TEXT,
                    UNIQUE (thing, person));
                 INSERT INTO {table} VALUES (1, 1, 'erased-1', 'erased user'), (2, 1, 'ann', 'Ann'), (3, 2, 'ann', 'Ann'),
                    (4, 1, 'ben', 'Ben'), (5, 3, 'ann', NULL)"
            ));
            let erase = async |key: &'static str| {
                let columns = IdentityColumns { table: "seen", key, user_id: "person", user_name: Some("name"), text: None };
                let erasure = Erasure { user_id: "ann".into(), erased_id: "erased-1".into() };
                db.write(move |c| columns.erase(c, &erasure)).await
            };
            assert!(erase("id").await.is_err(), "the key that makes the rows unique has to be named");
            for expected in [2, 1, 0] {
                assert_eq!(erase("thing, person").await.unwrap(), expected);
            }
            assert_eq!(test.count(&format!("{table} WHERE person = 'erased-1' AND name = 'erased user'")), 2);
            assert_eq!(test.count(&format!("{table} WHERE person = 'erased-1' AND name IS NULL")), 1);
            assert_eq!(test.count(&format!("{table} WHERE person = 'ben' AND name = 'Ben'")), 1);
            assert_eq!(test.count(table), 4);
        }

        async fn a_batch_of_rows_that_came_back_is_limited(backend) {
            let test = TestDatabase::empty(backend).await;
            let db = crate::schema::tests::open(&test).await;
            let table = if backend == Backend::Postgres { "common.seen" } else { "seen" };
            let rows = (0..1_100).map(|n| format!("({n}, 'ann'), ({n}, 'erased-1')")).collect::<Vec<_>>().join(", ");
            test.execute(&format!(
                "CREATE TABLE {table} (thing INTEGER, person TEXT, PRIMARY KEY (thing, person));
                 INSERT INTO {table} VALUES {rows}, (1100, 'ann')"
            ));
            let columns = IdentityColumns { table: "seen", key: "thing, person", user_id: "person", user_name: None, text: None };
            for expected in [1, 500, 500, 100, 0] {
                let erasure = Erasure { user_id: "ann".into(), erased_id: "erased-1".into() };
                assert_eq!(db.write(move |c| columns.erase(c, &erasure)).await.unwrap(), expected);
            }
            assert_eq!(test.count(table), 1_101);
        }
    }
}
