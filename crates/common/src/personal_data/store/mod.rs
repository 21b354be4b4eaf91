//! The queries of erasures, and those that several kinds of records share.

mod common;
mod files;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::{AnyConnection, Timestamp};
use diesel::prelude::*;
use diesel::sql_types::Text;
use sha2::{Digest, Sha256};

use super::model::{ERASED_NAME, ERASED_TEXT, Erasure};
use crate::Error;
use crate::auth::ERASED_PREFIX;
use crate::schema::erasures::{self, dsl as e};
pub(super) use common::COMMON_KINDS;
pub use files::{erase_file_references, list_file_references};

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
