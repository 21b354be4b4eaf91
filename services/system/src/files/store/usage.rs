//! The queries on what owners use.

use chrono::TimeDelta;
use common::{Error, Reason};
use database::{AnyConnection, Timestamp};
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};

use crate::files::model::{Owner, tenant};
use crate::schema::{files, storage_usage as usage};

/// How long a count is used. Then the files are counted again, to include those of a replica of the previous release.
const COUNT_HOURS: i64 = 24;

/// The number of files that an owner may store is its maximum number of bytes divided by this.
const BYTES_PER_FILE: i64 = 4096;

/// The number of files that every owner may store, whatever its maximum number of bytes.
const MIN_FILES: i64 = 10_000;

const EXCEEDED: &str = "The files of this owner would exceed the storage quota: see GET /v1/files/usage, or ask the operator for more.";

/// Returns the bytes and the number of an owner's files, archived ones too.
pub(crate) fn find(c: &mut AnyConnection, owner: &Owner) -> Result<(i64, i64), Error> {
    match find_count(c, owner)? {
        Some(count) => Ok(count),
        None => count(c, owner),
    }
}

/// Checks that an owner may store this number of additional bytes and files.
///
/// # Errors
/// 403 `quota_exceeded` otherwise.
pub(crate) fn check(
    c: &mut AnyConnection,
    owner: &Owner,
    (bytes, files): (i64, i64),
    max_bytes: i64,
) -> Result<(), Error> {
    let (used_bytes, used_files) = find(c, owner)?;
    let max_files = MIN_FILES.max(max_bytes / BYTES_PER_FILE);
    if used_bytes.saturating_add(bytes) > max_bytes || used_files.saturating_add(files) > max_files {
        return Err(Error::Restricted(Reason::QuotaExceeded, EXCEEDED));
    }
    Ok(())
}

/// Adds files to what their owner uses, before they are stored. Of two transactions that do so at the same time, one
/// runs again, so that they cannot exceed the maximum together.
///
/// # Errors
/// As [`check`].
pub(crate) fn add(
    c: &mut AnyConnection,
    owner: &Owner,
    (bytes, files): (i64, i64),
    max_bytes: i64,
) -> Result<(), Error> {
    check(c, owner, (bytes, files), max_bytes)?;
    if find_count(c, owner)?.is_none() {
        let (bytes, files) = count(c, owner)?;
        let counted =
            (usage::bytes.eq(bytes), usage::files.eq(files), usage::counted_at.eq(Timestamp::now()));
        let row = (usage::owner.eq(key(owner)), counted);
        database::dispatch!(c, c => diesel::insert_into(usage::table)
            .values(row)
            .on_conflict(usage::owner)
            .do_update()
            .set(counted)
            .execute(c))?;
    }
    let row = usage::table.find(key(owner));
    let added = (usage::bytes.eq(usage::bytes + bytes), usage::files.eq(usage::files + files));
    diesel::update(row).set(added).execute(c)?;
    Ok(())
}

/// Subtracts bytes of a file whose content became smaller.
pub(crate) fn shrink(c: &mut AnyConnection, owner: &Owner, bytes: i64) -> Result<(), Error> {
    diesel::update(usage::table.find(key(owner))).set(usage::bytes.eq(usage::bytes - bytes)).execute(c)?;
    Ok(())
}

/// Deletes what a user uses, whose id is erased. Returns the number of rows.
pub(crate) fn forget(c: &mut AnyConnection, user_id: &str) -> Result<usize, Error> {
    Ok(diesel::delete(usage::table.find(tenant(None, user_id))).execute(c)?)
}

/// Returns the count of an owner's files, unless it is too old.
fn find_count(c: &mut AnyConnection, owner: &Owner) -> Result<Option<(i64, i64)>, Error> {
    let oldest = Timestamp::now().plus(-TimeDelta::hours(COUNT_HOURS));
    let recent = usage::table.find(key(owner)).filter(usage::counted_at.gt(oldest));
    Ok(recent.select((usage::bytes, usage::files)).first(c).optional()?)
}

/// Counts an owner's files. Reads an index only.
fn count(c: &mut AnyConnection, owner: &Owner) -> Result<(i64, i64), Error> {
    let sum = sql::<Nullable<BigInt>>("CAST(SUM(size) AS BIGINT)");
    let counted = files::table.select((sum, count_star()));
    let (bytes, files): (Option<i64>, i64) = if let Some(id) = &owner.organisation_id {
        counted.filter(files::organisation_id.eq(id)).first(c)?
    } else {
        let own = files::organisation_id.is_null().and(files::user_id.eq(&owner.user_id));
        counted.filter(own).first(c)?
    };
    Ok((bytes.unwrap_or_default(), files))
}

fn key(owner: &Owner) -> String {
    tenant(owner.organisation_id.as_deref(), &owner.user_id)
}
