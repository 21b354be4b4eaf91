//! The database queries on files.

use std::collections::HashMap;

use common::{Caller, Error};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};

use super::content::ContentName;
use super::model::{File, Upload};
use super::sharing::{Sharing, TooManyOrganisations};
use super::stored_contents::StoredContents;
use crate::schema::{contents, files};

/// The operation of the idempotency keys that store the ids of sharings.
const SHARE_OPERATION: &str = "share files";

/// Creates the rows of an upload.
///
/// # Errors
/// 503 if the contents were stored so long ago that the sweep might remove them.
pub(super) fn create(c: &mut AnyConnection, upload: &Upload, stored: &StoredContents) -> Result<(), Error> {
    stored.check_not_expired()?;
    // Single-row inserts use cached prepared statements. Most uploads have one file.
    for name in &stored.new {
        // If a concurrent upload has stored the same content, its content is used, and the sweep removes this one.
        let row = (contents::hash.eq(name.hash()), contents::name.eq(name.as_str()));
        database::dispatch!(c, c => diesel::insert_into(contents::table)
            .values(row)
            .on_conflict(contents::hash)
            .do_nothing()
            .execute(c))?;
    }
    for file in upload.files() {
        let row = (
            files::id.eq(file.id),
            files::bucket.eq(file.bucket.to_string()),
            files::kind.eq(file.kind.to_string()),
            files::organisation_id.eq(&file.organisation_id),
            files::name.eq(&file.name),
            files::hash.eq(&file.hash),
            files::content_type.eq(&file.content_type),
            files::size.eq(file.size),
            files::user_id.eq(&file.user_id),
            files::user_name.eq(&file.user_name),
            files::organisations.eq(Json::of(&file.organisations)?),
            files::created_at.eq(file.created_at),
        );
        diesel::insert_into(files::table).values(row).execute(c)?;
    }
    Ok(())
}

/// Finds a file that the caller may read.
///
/// # Errors
/// 404, 403.
pub(super) fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<File, Error> {
    find_any(c, id).and_then(|file| check_readable(file, caller))
}

/// Finds a file whose content the caller may read, and the name of its content in the content store. Only `admin` may
/// read the content of an archived file.
///
/// # Errors
/// 404, 403.
pub(super) fn find_content(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
) -> Result<(File, ContentName), Error> {
    let row: Option<(File, String)> = files::table
        .inner_join(contents::table.on(contents::hash.eq(files::hash)))
        .filter(files::id.eq(id))
        .select((File::as_select(), contents::name))
        .first(c)
        .optional()?;
    let (file, name) =
        row.filter(|(file, _)| file.archived_at.is_none() || caller.admin).ok_or(Error::NotFound)?;
    Ok((check_readable(file, caller)?, name.into()))
}

/// Returns the names of the contents with these hashes that are in use, by hash.
pub(super) fn find_content_names(
    c: &mut AnyConnection,
    hashes: &[String],
) -> Result<HashMap<String, ContentName>, Error> {
    let rows: Vec<(String, String)> = contents::table
        .filter(contents::hash.eq_any(hashes))
        .select((contents::hash, contents::name))
        .load(c)?;
    Ok(rows.into_iter().map(|(hash, name)| (hash, name.into())).collect())
}

/// Returns the same as [`find_content_names`], with one cached prepared statement per hash. Faster for few hashes.
pub(super) fn find_content_names_cached(
    c: &mut AnyConnection,
    hashes: &[String],
) -> Result<HashMap<String, ContentName>, Error> {
    let mut names = HashMap::new();
    for hash in hashes {
        let name: Option<String> = contents::table.find(hash).select(contents::name).first(c).optional()?;
        names.extend(name.map(|name| (hash.clone(), name.into())));
    }
    Ok(names)
}

/// Returns true if there is a file with this id.
pub(super) fn exists(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    Ok(diesel::select(diesel::dsl::exists(files::table.find(id))).get_result(c)?)
}

/// Returns true if no file was ever uploaded.
pub(super) fn is_empty(c: &mut AnyConnection) -> Result<bool, Error> {
    Ok(contents::table.select(contents::hash).first::<String>(c).optional()?.is_none())
}

/// Archives a file.
///
/// # Errors
/// 404, 403, 409 if the file is archived already.
pub(super) fn archive(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    let file = find_any(c, id)?;
    if !file.is_own_of(caller) {
        return Err(Error::Forbidden(
            "Only this file's organisation may archive it; a file without an organisation, only its uploader.",
        ));
    }
    if file.archived_at.is_some() {
        return Err(Error::conflict("This file is already archived."));
    }
    diesel::update(files::table.find(id)).set(files::archived_at.eq(Timestamp::now())).execute(c)?;
    Ok(())
}

/// Finds those of these files that are not archived and that the caller may read, in the order of `ids`.
pub(super) fn find_usable(c: &mut AnyConnection, caller: &Caller, ids: &[Id]) -> Result<Vec<File>, Error> {
    let rows: Vec<File> = files::table
        .filter(files::id.eq_any(ids))
        .filter(files::archived_at.is_null())
        .select(File::as_select())
        .load(c)?;
    let mut by_id: HashMap<_, _> = rows.into_iter().map(|file| (file.id, file)).collect();
    let in_order = ids.iter().filter_map(|id| by_id.remove(id));
    Ok(in_order.filter(|file| file.is_readable_by(caller)).collect())
}

/// Returns the size in bytes of the organisation lists of these files, except archived ones: an upper bound of their
/// size in a response.
pub(super) fn organisations_size(c: &mut AnyConnection, ids: &[Id]) -> Result<usize, Error> {
    let size = sql::<Nullable<BigInt>>("SUM(octet_length(CAST(organisations AS TEXT)))");
    let in_use = files::table.filter(files::id.eq_any(ids)).filter(files::archived_at.is_null());
    let size: Option<i64> = in_use.select(size).first(c)?;
    Ok(size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default())
}

/// Changes the sharing of the caller's own files among these, and returns the same files as [`find_usable`].
///
/// Reads and writes in one transaction. PostgreSQL repeats the transaction if another one changes a file meanwhile. So
/// concurrent calls cannot exceed the limit together.
///
/// # Errors
/// 400 if a file would be shared with too many organisations. Then nothing is changed.
pub(super) fn share(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
    sharing: &Sharing,
) -> Result<Vec<File>, Error> {
    let mut found = find_usable(c, caller, ids)?;
    if sharing.all_or_nothing && found.len() < ids.len() {
        return Ok(found);
    }
    let repeat = match &sharing.share_id {
        Some(id) if sharing.adds() => !common::idempotency::claim(c, caller, SHARE_OPERATION, id)?,
        _ => false,
    };
    // The files of a load are usually shared with the same organisations: updates all files with equal lists at once.
    let mut changes = HashMap::<String, Vec<Id>>::new();
    let mut full = Vec::new();
    for file in found.iter_mut().filter(|file| file.is_own_of(caller)) {
        match sharing.apply(&mut file.organisations, repeat) {
            Ok(false) => {}
            Ok(true) => changes.entry(Json::of(&file.organisations)?.0).or_default().push(file.id),
            Err(TooManyOrganisations) => full.push(file.id),
        }
    }
    if !full.is_empty() {
        return Err(TooManyOrganisations::error(&full));
    }
    for (list, ids) in changes {
        diesel::update(files::table.filter(files::id.eq_any(ids)))
            .set(files::organisations.eq(Json(list)))
            .execute(c)?;
    }
    Ok(found)
}

fn find_any(c: &mut AnyConnection, id: Id) -> Result<File, Error> {
    let file: Option<File> = files::table.find(id).select(File::as_select()).first(c).optional()?;
    file.ok_or(Error::NotFound)
}

fn check_readable(file: File, caller: &Caller) -> Result<File, Error> {
    if file.is_readable_by(caller) {
        Ok(file)
    } else {
        Err(Error::Forbidden("This file belongs to another organisation, which has not shared it with you."))
    }
}
