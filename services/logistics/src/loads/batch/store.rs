//! Which contents were imported.

use std::collections::HashMap;

use common::Error;
use database::{AnyConnection, Timestamp};
use diesel::prelude::*;

use super::plan::Import;
use crate::schema::imports::dsl as i;

/// 409 for the first file that was imported before, unless it may be again.
pub fn refuse_repeat(c: &mut AnyConnection, import: &Import) -> Result<(), Error> {
    if import.repeat {
        return Ok(());
    }
    let hashes = import.files.iter().map(|file| &file.content_hash).chain([&import.combined_hash]);
    let hashes: Vec<_> = hashes.collect();
    let known = i::imports.filter(i::organisation_id.eq(&import.organisation_id));
    let known = known.filter(i::content_hash.eq_any(hashes)).select((i::content_hash, i::imported_at));
    let known: HashMap<String, Timestamp> = known.load(c)?.into_iter().collect();
    for file in &import.files {
        let Some(at) = known.get(&file.content_hash).or(known.get(&import.combined_hash)) else { continue };
        let message = "The same content was imported before: send repeat=true to import it once more.";
        let conflict = Error::conflict(message).with("importedAtUTC", at.to_string());
        return Err(conflict.with("file", file.name.as_str()));
    }
    Ok(())
}

/// Records an import. If another transaction does so with the same content, this one waits for it; what comes of it
/// PostgreSQL cannot serialise, so the write runs again and finds the other's row.
pub fn record(c: &mut AnyConnection, import: &Import) -> Result<(), Error> {
    let now = Timestamp::now();
    let mut hashes: Vec<_> = import.files.iter().map(|file| &file.content_hash).collect();
    // In one order, or two transactions with the same files could wait for each other.
    hashes.sort_unstable();
    for hash in hashes {
        let row = (
            i::organisation_id.eq(&import.organisation_id),
            i::content_hash.eq(hash),
            i::imported_at.eq(now),
        );
        let recorded = database::dispatch!(c, c => diesel::insert_into(i::imports)
            .values(row)
            .on_conflict((i::organisation_id, i::content_hash))
            .do_update()
            .set(i::imported_at.eq(now))
            .execute(c));
        match recorded.map_err(database::Error::from) {
            Ok(_) => {}
            Err(error) if error.is_lock_timeout() => {
                let message = "The same content is being imported by another request: try again later.";
                return Err(Error::conflict(message));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
