//! The rows of the blobs that files use.

use std::collections::HashMap;

use anyhow::anyhow;
use common::Error;
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;

use crate::files::blob_store::BlobName;
use crate::schema::{blobs, files};

/// The most retired blobs that are removed at once.
const MAX_RETIRED: i64 = 100;

/// Creates the row of a blob.
pub(crate) fn create(c: &mut AnyConnection, name: &BlobName) -> Result<(), Error> {
    let retired = blobs::table.find(name.hash()).filter(blobs::retired_at.is_not_null());
    diesel::delete(retired).execute(c)?;
    // If a concurrent upload has stored the same content, its blob is used, and the sweep removes this one.
    let row = (blobs::hash.eq(name.hash()), blobs::name.eq(name.as_str()));
    database::dispatch!(c, c => diesel::insert_into(blobs::table)
        .values(row)
        .on_conflict(blobs::hash)
        .do_nothing()
        .execute(c))?;
    Ok(())
}

/// Checks that a blob is still in use, and keeps it from being retired before this transaction ends.
///
/// # Errors
/// 503 if the blob was retired since it was looked up. A retry stores it again.
pub(crate) fn check_in_use(c: &mut AnyConnection, name: &BlobName) -> Result<(), Error> {
    let row = blobs::table.find(name.hash()).filter(blobs::retired_at.is_null()).select(blobs::name);
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

/// Returns the names of the blobs with these hashes that are in use, by hash. Retired ones are among them.
pub(crate) fn find_names(
    c: &mut AnyConnection,
    hashes: &[String],
) -> Result<HashMap<String, BlobName>, Error> {
    let rows: Vec<(String, String)> =
        blobs::table.filter(blobs::hash.eq_any(hashes)).select((blobs::hash, blobs::name)).load(c)?;
    Ok(rows.into_iter().map(|(hash, name)| (hash, name.into())).collect())
}

/// Returns the names of the blobs with these hashes that new files can use, by hash. One cached prepared statement
/// per hash, which is faster for few hashes.
pub(crate) fn find_usable_names(
    c: &mut AnyConnection,
    hashes: &[String],
) -> Result<HashMap<String, BlobName>, Error> {
    let mut names = HashMap::new();
    for hash in hashes {
        let usable = blobs::table.find(hash).filter(blobs::retired_at.is_null());
        let name: Option<String> = usable.select(blobs::name).first(c).optional()?;
        names.extend(name.map(|name| (hash.clone(), name.into())));
    }
    Ok(names)
}

/// Returns true if no file was ever uploaded.
pub(crate) fn is_empty(c: &mut AnyConnection) -> Result<bool, Error> {
    Ok(blobs::table.select(blobs::hash).first::<String>(c).optional()?.is_none())
}

/// Returns true if a file that is not archived has the content with this hash.
pub(crate) fn is_active(c: &mut AnyConnection, hash: &str) -> Result<bool, Error> {
    let active = files::table.filter(files::hash.eq(hash)).filter(files::archived_at.is_null());
    Ok(active.select(files::id).first::<Id>(c).optional()?.is_some())
}

/// Retires the blob with this hash unless a file has it.
pub(crate) fn retire_unused(c: &mut AnyConnection, hash: &str) -> Result<(), Error> {
    if !is_used(c, hash)? {
        let blob = blobs::table.find(hash);
        diesel::update(blob).set(blobs::retired_at.eq(Timestamp::now())).execute(c)?;
    }
    Ok(())
}

/// Deletes the rows of retired blobs, and returns their names. A blob that a file got in a transaction that ran
/// at the same time as the one that retired it is in use again.
pub(crate) fn delete_retired(c: &mut AnyConnection) -> Result<Vec<BlobName>, Error> {
    let retired = blobs::table.filter(blobs::retired_at.is_not_null()).limit(MAX_RETIRED);
    let retired: Vec<(String, String)> = retired.select((blobs::hash, blobs::name)).load(c)?;
    let mut deleted = Vec::new();
    for (hash, name) in retired {
        let blob = blobs::table.find(&hash);
        if is_used(c, &hash)? {
            diesel::update(blob).set(blobs::retired_at.eq(None::<Timestamp>)).execute(c)?;
        } else {
            diesel::delete(blob).execute(c)?;
            deleted.push(name.into());
        }
    }
    Ok(deleted)
}

fn is_used(c: &mut AnyConnection, hash: &str) -> Result<bool, Error> {
    let file = files::table.filter(files::hash.eq(hash)).select(files::id).first::<Id>(c);
    Ok(file.optional()?.is_some())
}
