//! The queries of erasures, and those that several kinds of records share.

mod common;
mod files;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::{AnyConnection, Timestamp};
use diesel::prelude::*;
use diesel::sql_types::Text;
use sha2::{Digest, Sha256};

use super::model::{ERASED_NAME, Erasure};
use crate::Error;
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
    /// The columns of the primary key, separated by commas.
    pub key: &'static str,
    /// The column with the user id. It has an index.
    pub user_id: &'static str,
    /// The column with the name of the same user.
    pub user_name: Option<&'static str>,
}

impl IdentityColumns {
    /// Erases the user in up to 500 rows. Returns their number.
    ///
    /// # Errors
    /// If the database fails.
    pub fn erase(&self, c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
        let Self { table, key, user_id, user_name } = self;
        // A user without a name stays so.
        let name = user_name.map_or_else(String::new, |name| {
            format!(", {name} = CASE WHEN {name} IS NULL THEN NULL ELSE '{ERASED_NAME}' END")
        });
        let update = format!(
            "UPDATE {table} SET {user_id} = $1{name} WHERE ({key}) IN \
             (SELECT {key} FROM {table} WHERE {user_id} = $2 LIMIT {BATCH_SIZE})"
        );
        Ok(database::dispatch!(c, c => diesel::sql_query(update)
            .bind::<Text, _>(&erasure.erased_id)
            .bind::<Text, _>(&erasure.user_id)
            .execute(c))?)
    }
}

/// Returns the erasure of a user that is not finished, or begins one.
pub(super) fn begin(c: &mut AnyConnection, user_id: &str) -> Result<Erasure, Error> {
    let hash = hash(user_id);
    let row = (
        e::user_hash.eq(&hash),
        e::erased_id.eq(format!("erased-{:032x}", rand::random::<u128>())),
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
