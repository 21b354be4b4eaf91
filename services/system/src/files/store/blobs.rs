//! The queries on the contents that files use.

use std::collections::HashMap;

use anyhow::anyhow;
use common::Error;
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use crate::files::blob_store::ContentName;
use crate::schema::{contents, files};

/// The most retired contents that are removed at once.
const MAX_RETIRED: i64 = 100;

/// Creates the row of a content.
pub(in crate::files) fn create(c: &mut AnyConnection, name: &ContentName) -> Result<(), Error> {
    let retired = contents::table.find(name.hash()).filter(contents::retired_at.is_not_null());
    diesel::delete(retired).execute(c)?;
    // If a concurrent upload has stored the same content, its content is used, and the sweep removes this one.
    let row = (contents::hash.eq(name.hash()), contents::name.eq(name.as_str()));
    database::dispatch!(c, c => diesel::insert_into(contents::table)
        .values(row)
        .on_conflict(contents::hash)
        .do_nothing()
        .execute(c))?;
    Ok(())
}

/// Checks that a content is still in use, and keeps it from being retired before this transaction ends.
///
/// # Errors
/// 503 if the content was retired since it was looked up. A retry stores it again.
pub(in crate::files) fn check_in_use(c: &mut AnyConnection, name: &ContentName) -> Result<(), Error> {
    let row = contents::table.find(name.hash()).filter(contents::retired_at.is_null()).select(contents::name);
    let in_use: Option<String> = match c {
        AnyConnection::Sqlite(c) => row.get_result(c).optional()?,
        AnyConnection::Postgres(c) => row.for_share().get_result(c).optional()?,
    };
    if in_use.as_deref() == Some(name.as_str()) {
        return Ok(());
    }
    let cause = anyhow!("the content {} was retired while it was uploaded again", name.as_str());
    Err(Error::Unavailable(cause, "The file store"))
}

/// Returns the names of the contents with these hashes that are in use, by hash. Retired ones are among them.
pub(in crate::files) fn find_names(
    c: &mut AnyConnection,
    hashes: &[String],
) -> Result<HashMap<String, ContentName>, Error> {
    let rows: Vec<(String, String)> = contents::table
        .filter(contents::hash.eq_any(hashes))
        .select((contents::hash, contents::name))
        .load(c)?;
    Ok(rows.into_iter().map(|(hash, name)| (hash, name.into())).collect())
}

/// Returns the names of the contents with these hashes that new files can use, by hash. One cached prepared statement
/// per hash, which is faster for few hashes.
pub(in crate::files) fn find_usable_names(
    c: &mut AnyConnection,
    hashes: &[String],
) -> Result<HashMap<String, ContentName>, Error> {
    let mut names = HashMap::new();
    for hash in hashes {
        let usable = contents::table.find(hash).filter(contents::retired_at.is_null());
        let name: Option<String> = usable.select(contents::name).first(c).optional()?;
        names.extend(name.map(|name| (hash.clone(), name.into())));
    }
    Ok(names)
}

/// Returns true if no file was ever uploaded.
pub(in crate::files) fn is_empty(c: &mut AnyConnection) -> Result<bool, Error> {
    Ok(contents::table.select(contents::hash).first::<String>(c).optional()?.is_none())
}

/// Returns true if a file that is not archived has the content with this hash.
pub(in crate::files) fn is_active(c: &mut AnyConnection, hash: &str) -> Result<bool, Error> {
    let active = files::table.filter(files::hash.eq(hash)).filter(files::archived_at.is_null());
    Ok(active.select(files::id).first::<Id>(c).optional()?.is_some())
}

/// Retires the content with this hash unless a file has it.
pub(in crate::files) fn retire_unused(c: &mut AnyConnection, hash: &str) -> Result<(), Error> {
    if !is_used(c, hash)? {
        let content = contents::table.find(hash);
        diesel::update(content).set(contents::retired_at.eq(Timestamp::now())).execute(c)?;
    }
    Ok(())
}

/// Deletes the rows of retired contents, and returns their names. A content that a file got in a transaction that ran
/// at the same time as the one that retired it is in use again.
pub(in crate::files) fn delete_retired(c: &mut AnyConnection) -> Result<Vec<ContentName>, Error> {
    let retired = contents::table.filter(contents::retired_at.is_not_null()).limit(MAX_RETIRED);
    let retired: Vec<(String, String)> = retired.select((contents::hash, contents::name)).load(c)?;
    let mut deleted = Vec::new();
    for (hash, name) in retired {
        let content = contents::table.find(&hash);
        if is_used(c, &hash)? {
            diesel::update(content).set(contents::retired_at.eq(None::<Timestamp>)).execute(c)?;
        } else {
            diesel::delete(content).execute(c)?;
            deleted.push(name.into());
        }
    }
    Ok(deleted)
}

fn is_used(c: &mut AnyConnection, hash: &str) -> Result<bool, Error> {
    let file = files::table.filter(files::hash.eq(hash)).select(files::id).first::<Id>(c);
    Ok(file.optional()?.is_some())
}
