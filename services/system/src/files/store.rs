//! Every query on files.

use std::collections::HashMap;

use common::{Caller, Error};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};

use super::content::Name;
use super::kept::StoredContents;
use super::model::{File, Upload};
use super::resolve::{NoRoom, Sharing};
use crate::schema::contents::dsl as k;
use crate::schema::files::dsl as f;

/// The operation whose keys are the ids of sharings.
const SHARING: &str = "share files";

/// Stores what was uploaded; its content is in the content store by now.
pub(super) fn create(c: &mut AnyConnection, upload: &Upload, kept: &StoredContents) -> Result<(), Error> {
    kept.check_not_expired()?;
    // One by one, by statements that stay prepared; mostly there is one file.
    for name in &kept.new {
        // Somebody else may have kept the same content since: then theirs is used and ours is swept.
        let row = (k::hash.eq(name.hash()), k::name.eq(name.as_str()));
        database::dispatch!(c, c => diesel::insert_into(k::contents)
            .values(row)
            .on_conflict(k::hash)
            .do_nothing()
            .execute(c))?;
    }
    for file in upload.files() {
        let row = (
            f::id.eq(file.id),
            f::bucket.eq(file.bucket.to_string()),
            f::kind.eq(file.kind.to_string()),
            f::organisation_id.eq(&file.organisation_id),
            f::name.eq(&file.name),
            f::hash.eq(&file.hash),
            f::content_type.eq(&file.content_type),
            f::size.eq(file.size),
            f::user_id.eq(&file.user_id),
            f::user_name.eq(&file.user_name),
            f::organisations.eq(Json::of(&file.organisations)?),
            f::created_at.eq(file.created_at),
        );
        diesel::insert_into(f::files).values(row).execute(c)?;
    }
    Ok(())
}

/// A file that the caller may read; 404, 403.
pub(super) fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<File, Error> {
    any(c, id).and_then(|file| readable(file, caller))
}

/// A file whose content the caller may read, and what its content is called in the store: as [`find`], but an archived
/// one is there for `admin` only.
pub(super) fn find_content(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(File, Name), Error> {
    let found: Option<(File, String)> = f::files
        .inner_join(k::contents.on(k::hash.eq(f::hash)))
        .filter(f::id.eq(id))
        .select((File::as_select(), k::name))
        .first(c)
        .optional()?;
    let there = |(file, _): &(File, String)| file.archived_at.is_none() || caller.admin;
    let (file, name) = found.filter(there).ok_or(Error::NotFound)?;
    Ok((readable(file, caller)?, name.into()))
}

/// The names of those of these contents that are in use, by hash.
pub(super) fn names(c: &mut AnyConnection, hashes: &[String]) -> Result<HashMap<String, Name>, Error> {
    let found: Vec<(String, String)> =
        k::contents.filter(k::hash.eq_any(hashes)).select((k::hash, k::name)).load(c)?;
    Ok(found.into_iter().map(|(hash, name)| (hash, name.into())).collect())
}

/// As [`names`] for a few, by a statement that stays prepared.
pub(super) fn few_names(c: &mut AnyConnection, hashes: &[String]) -> Result<HashMap<String, Name>, Error> {
    let mut found = HashMap::new();
    for hash in hashes {
        let name: Option<String> = k::contents.find(hash).select(k::name).first(c).optional()?;
        found.extend(name.map(|name| (hash.clone(), name.into())));
    }
    Ok(found)
}

/// True when nothing was ever uploaded.
pub(super) fn is_empty(c: &mut AnyConnection) -> Result<bool, Error> {
    Ok(k::contents.select(k::hash).first::<String>(c).optional()?.is_none())
}

/// Archives a file; 404, 403, 409.
pub(super) fn archive(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    let file = any(c, id)?;
    if !file.is_own_of(caller) {
        return Err(Error::Forbidden(
            "Only this file's organisation may archive it; a file without an organisation, only its uploader.",
        ));
    }
    if file.archived_at.is_some() {
        return Err(Error::conflict("This file is archived already."));
    }
    diesel::update(f::files.find(id)).set(f::archived_at.eq(Timestamp::now())).execute(c)?;
    Ok(())
}

/// Those of these files that are in use and that the caller may read, in the order asked.
pub(super) fn find_usable(c: &mut AnyConnection, caller: &Caller, ids: &[Id]) -> Result<Vec<File>, Error> {
    let found: Vec<File> = f::files
        .filter(f::id.eq_any(ids))
        .filter(f::archived_at.is_null())
        .select(File::as_select())
        .load(c)?;
    let mut found: HashMap<_, _> = found.into_iter().map(|file| (file.id, file)).collect();
    let found = ids.iter().filter_map(|id| found.remove(id));
    Ok(found.filter(|file| file.is_readable_by(caller)).collect())
}

/// The bytes that the organisations of these files take as they are stored. In an answer they take no more.
pub(super) fn organisations_size(c: &mut AnyConnection, ids: &[Id]) -> Result<usize, Error> {
    let size = sql::<Nullable<BigInt>>("SUM(octet_length(CAST(organisations AS TEXT)))");
    let in_use = f::files.filter(f::id.eq_any(ids)).filter(f::archived_at.is_null());
    let size: Option<i64> = in_use.select(size).first(c)?;
    Ok(size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default())
}

/// As [`find_usable`]; the sharing of the caller's own among them is changed. They are read and written in one
/// transaction, which PostgreSQL repeats if another changes one of them meanwhile: so calls at the same time keep the
/// limit together.
///
/// # Errors
/// 400 if one of them would be shared with too many organisations; then none is changed.
pub(super) fn share(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
    sharing: &Sharing,
) -> Result<Vec<File>, Error> {
    let mut files = find_usable(c, caller, ids)?;
    if sharing.all_or_nothing && files.len() < ids.len() {
        return Ok(files);
    }
    let repeat = match &sharing.share_id {
        Some(id) if sharing.shares() => !common::idempotency::claim(c, caller, SHARING, id)?,
        _ => false,
    };
    // Files of one load are mostly shared with the same organisations: one statement for all of those.
    let mut changes = HashMap::<String, Vec<Id>>::new();
    let mut full = Vec::new();
    for file in files.iter_mut().filter(|file| file.is_own_of(caller)) {
        match sharing.apply(&mut file.organisations, repeat) {
            Ok(false) => {}
            Ok(true) => changes.entry(Json::of(&file.organisations)?.0).or_default().push(file.id),
            Err(NoRoom) => full.push(file.id),
        }
    }
    if !full.is_empty() {
        return Err(NoRoom::refuse(&full));
    }
    for (list, ids) in changes {
        diesel::update(f::files.filter(f::id.eq_any(ids))).set(f::organisations.eq(Json(list))).execute(c)?;
    }
    Ok(files)
}

fn any(c: &mut AnyConnection, id: Id) -> Result<File, Error> {
    let file: Option<File> = f::files.find(id).select(File::as_select()).first(c).optional()?;
    file.ok_or(Error::NotFound)
}

fn readable(file: File, caller: &Caller) -> Result<File, Error> {
    if file.is_readable_by(caller) {
        Ok(file)
    } else {
        Err(Error::Forbidden("This file belongs to another organisation, which has not shared it with you."))
    }
}
