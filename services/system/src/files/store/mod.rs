//! The database queries on files.

pub(super) mod blobs;
mod personal_data;
pub(super) mod usage;

use std::collections::HashMap;

use common::{Caller, Error, Reason};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};

use super::blob_store::{BlobName, StoredBlobs};
use super::links::LinkTarget;
use super::model::{File, Owner, Upload, name_key};
use super::privacy::StrippedFiles;
use super::sharing::{ShareFailure, Sharing, TooManyOrganisations};
use crate::schema::{blobs as blob_rows, files};

pub(crate) use personal_data::record_kinds;

/// The operation of the idempotency keys that store the ids of sharings.
const SHARE_OPERATION: &str = "share files";

/// Creates the rows of an upload.
///
/// # Errors
/// 403 `quota_exceeded` as [`usage::check`]; 503 if the blobs were stored so long ago that the sweep might remove them,
/// or if one of them was retired meanwhile.
pub(super) fn create(
    c: &mut AnyConnection,
    upload: &Upload,
    stored: &StoredBlobs,
    max_bytes: i64,
) -> Result<(), Error> {
    usage::add(c, &Owner::of(&upload.first), (upload.bytes(), upload.count()), max_bytes)?;
    create_blobs(c, stored, |_| true)?;
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
            files::name_key.eq(name_key(&file.name)),
        );
        diesel::insert_into(files::table).values(row).execute(c)?;
    }
    Ok(())
}

/// Creates the rows of those blobs that files get.
///
/// # Errors
/// 503 if the blobs were stored so long ago that the sweep might remove them, or if one of them was retired
/// meanwhile.
fn create_blobs(
    c: &mut AnyConnection,
    stored: &StoredBlobs,
    is_needed: impl Fn(&BlobName) -> bool,
) -> Result<(), Error> {
    stored.check_not_expired()?;
    for name in stored.reused.iter().filter(|name| is_needed(name)) {
        blobs::check_in_use(c, name)?;
    }
    // Single-row inserts use cached prepared statements. Most uploads have one file.
    for name in stored.new.iter().filter(|name| is_needed(name)) {
        blobs::create(c, name)?;
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

/// Finds a file whose content the caller may read, and the name of its blob. Only `admin` may
/// read the content of an archived file.
///
/// # Errors
/// 404, 403.
pub(super) fn find_with_blob(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
) -> Result<(File, BlobName), Error> {
    let found = find_any_with_blob(c, id)?;
    let (file, name) =
        found.filter(|(file, _)| file.archived_at.is_none() || caller.admin).ok_or(Error::NotFound)?;
    Ok((check_readable(file, caller)?, name))
}

fn find_any_with_blob(c: &mut AnyConnection, id: Id) -> Result<Option<(File, BlobName)>, Error> {
    let row: Option<(File, String)> = files::table
        .inner_join(blob_rows::table.on(blob_rows::hash.eq(files::hash)))
        .filter(files::id.eq(id))
        .select((File::as_select(), blob_rows::name))
        .first(c)
        .optional()?;
    Ok(row.map(|(file, name)| (file, name.into())))
}

/// Finds a file that a link gives access to, and the name of its blob.
///
/// # Errors
/// 404 if the file is archived, also if it does not exist; 403 if the link's maker may not read it any more.
pub(super) fn find_linked(c: &mut AnyConnection, target: &LinkTarget) -> Result<(File, BlobName), Error> {
    let (file, name) = find_any_with_blob(c, target.id)?.ok_or(Error::NotFound)?;
    if file.archived_at.is_some() {
        return Err(Error::NotFound);
    }
    if target.maker.as_ref().is_some_and(|maker| !maker.may_read(&file)) {
        return Err(Error::Forbidden("Whoever made this link may not read the file any more."));
    }
    Ok((file, name))
}

/// Checks that the caller may make links to a file.
///
/// # Errors
/// 404, also for an archived file, because a link to it would find nothing; 403.
pub(super) fn check_linkable(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    let file = find_any(c, id)?;
    if file.archived_at.is_some() {
        return Err(Error::NotFound);
    }
    check_readable(file, caller).map(drop)
}

/// Returns those of these files that the caller may make links to, in the order of `ids`.
pub(super) fn find_linkable(c: &mut AnyConnection, caller: &Caller, ids: &[Id]) -> Result<Vec<Id>, Error> {
    Ok(find_usable(c, caller, ids)?.into_iter().map(|file| file.id).collect())
}

/// Returns those of these files that are images that are shared with everybody, in the order of `ids`. Archived files
/// are not among them.
pub(super) fn find_public_images(c: &mut AnyConnection, ids: &[Id]) -> Result<Vec<Id>, Error> {
    let found = find_all(c, ids)?.into_iter();
    let is_shared = |file: &File| file.organisations.includes_everybody() && file.is_known_image();
    let public = found.filter(|file| file.archived_at.is_none() && is_shared(file));
    Ok(public.map(|file| file.id).collect())
}

/// Returns true if there is a file with this id.
pub(super) fn exists(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    Ok(diesel::select(diesel::dsl::exists(files::table.find(id))).get_result(c)?)
}

/// Archives a file. Returns the name of its blob if no other file that is not archived has the same content.
///
/// # Errors
/// 404, 403, 409 if the file is archived already.
pub(super) fn archive(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Option<BlobName>, Error> {
    let (file, name) = find_any_with_blob(c, id)?.ok_or(Error::NotFound)?;
    if !file.is_own_of(caller) {
        return Err(Error::Forbidden(
            "Only this file's organisation may archive it; a file without an organisation, only its uploader.",
        ));
    }
    if file.archived_at.is_some() {
        return Err(Error::conflict(Reason::AlreadyArchived, "This file is already archived."));
    }
    diesel::update(files::table.find(id)).set(files::archived_at.eq(Timestamp::now())).execute(c)?;
    Ok((!blobs::is_active(c, &file.hash)?).then_some(name))
}

/// Finds those of these files that are not archived and that the caller may read, in the order of `ids`.
pub(super) fn find_usable(c: &mut AnyConnection, caller: &Caller, ids: &[Id]) -> Result<Vec<File>, Error> {
    let mut found = find_all(c, ids)?;
    found.retain(|file| file.archived_at.is_none() && file.is_readable_by(caller));
    Ok(found)
}

/// Returns these files, in the order of `ids`.
pub(super) fn find_all(c: &mut AnyConnection, ids: &[Id]) -> Result<Vec<File>, Error> {
    let rows: Vec<File> = files::table.filter(files::id.eq_any(ids)).select(File::as_select()).load(c)?;
    let mut by_id: HashMap<_, _> = rows.into_iter().map(|file| (file.id, file)).collect();
    Ok(ids.iter().filter_map(|id| by_id.remove(id)).collect())
}

/// Returns the size in bytes of the organisation lists of these files: an upper bound of their size in a response.
pub(super) fn organisations_size(c: &mut AnyConnection, ids: &[Id]) -> Result<usize, Error> {
    let size = sql::<Nullable<BigInt>>("SUM(octet_length(CAST(organisations AS TEXT)))");
    let size: Option<i64> = files::table.filter(files::id.eq_any(ids)).select(size).first(c)?;
    Ok(size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default())
}

/// Changes the sharing of these files as the caller may, and returns the same files as [`find_usable`], and the ids of
/// those that changed. `stripped` has the images that were searched for metadata; `None` if they need not be.
///
/// Reads and writes in one transaction. PostgreSQL repeats the transaction if another one changes a file meanwhile. So
/// concurrent calls cannot exceed the limit together.
///
/// # Errors
/// [`ShareFailure::Unstripped`] if images that were not searched would become public, and 400 if a file would be shared
/// with too many organisations. Then nothing is changed.
pub(super) fn share(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
    sharing: &Sharing,
    stripped: Option<&StrippedFiles>,
) -> Result<(Vec<File>, Vec<Id>), ShareFailure> {
    let mut found = find_usable(c, caller, ids)?;
    if sharing.all_or_nothing && found.len() < ids.len() {
        return Ok((found, Vec::new()));
    }
    let repeat = match &sharing.share_id {
        Some(id) if sharing.adds() => !common::idempotency::claim(c, caller, SHARE_OPERATION, id)?,
        _ => false,
    };
    // The files of a load are usually shared with the same organisations: updates all files with equal lists at once.
    let mut changes = HashMap::<String, Vec<Id>>::new();
    let (mut full, mut unstripped) = (Vec::new(), Vec::new());
    for file in &mut found {
        let was_public = file.is_public();
        let applied = if file.is_own_of(caller) {
            sharing.apply(&mut file.organisations, repeat)
        } else {
            Ok(sharing.apply_to_others(&mut file.organisations, caller))
        };
        match applied {
            Ok(false) => {}
            Ok(true) => {
                changes
                    .entry(Json::of(&file.organisations).map_err(Error::from)?.0)
                    .or_default()
                    .push(file.id);
            }
            Err(TooManyOrganisations) => full.push(file.id),
        }
        let becomes_public = !was_public && file.is_public();
        if becomes_public && stripped.is_some_and(|stripped| stripped.lacks(file)) {
            unstripped.push(file.clone());
        }
    }
    if !full.is_empty() {
        return Err(TooManyOrganisations::error(&full).into());
    }
    if !unstripped.is_empty() {
        return Err(ShareFailure::Unstripped(with_blobs(c, unstripped)?));
    }
    let changed_ids = changes.values().flatten().copied().collect();
    for (list, ids) in changes {
        set_organisations(c, list, ids)?;
    }
    if let Some(stripped) = stripped {
        replace_blobs(c, &mut found, stripped)?;
    }
    Ok((found, changed_ids))
}

/// Sets the organisations of files to this list, a JSON array.
fn set_organisations(c: &mut AnyConnection, list: String, ids: Vec<Id>) -> Result<(), Error> {
    let changed = files::table.filter(files::id.eq_any(ids));
    diesel::update(changed).set(files::organisations.eq(Json(list))).execute(c)?;
    Ok(())
}

/// Returns files with the names of their blobs.
fn with_blobs(c: &mut AnyConnection, files: Vec<File>) -> Result<Vec<(File, BlobName)>, Error> {
    let hashes: Vec<_> = files.iter().map(|file| file.hash.clone()).collect();
    let names = blobs::find_names(c, &hashes)?;
    let with_name = |file: File| match names.get(&file.hash) {
        Some(name) => Ok((file, name.clone())),
        None => Err(Error::Internal(anyhow::anyhow!("the file {} has no content", file.id))),
    };
    files.into_iter().map(with_name).collect()
}

/// Gives those of these files that every caller may download now their contents without metadata. Retires the blobs
/// that no file has any more.
fn replace_blobs(c: &mut AnyConnection, found: &mut [File], stripped: &StrippedFiles) -> Result<(), Error> {
    let mut changes: Vec<_> =
        found.iter_mut().filter_map(|file| stripped.find(file).map(|content| (file, content))).collect();
    if changes.is_empty() {
        return Ok(());
    }
    let is_needed = |name: &BlobName| changes.iter().any(|(_, content)| content.hash == name.hash());
    create_blobs(c, &stripped.blobs, is_needed)?;
    for (file, content) in &mut changes {
        diesel::update(files::table.find(file.id))
            .set((files::hash.eq(&content.hash), files::size.eq(content.size)))
            .execute(c)?;
        usage::shrink(c, &Owner::of(file), file.size - content.size)?;
        file.hash.clone_from(&content.hash);
        file.size = content.size;
        blobs::retire_unused(c, &content.from)?;
    }
    Ok(())
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
