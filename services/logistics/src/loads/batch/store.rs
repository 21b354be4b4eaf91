//! Queries on the contents that were imported.

use std::collections::HashMap;

use common::Error;
use database::{AnyConnection, Timestamp};
use diesel::prelude::*;

use super::model::Import;
use crate::schema::imports::dsl as i;

/// Returns an error if a file was imported before and the import is not a permitted repeat.
///
/// # Errors
/// 409 for the first such file.
pub(crate) fn refuse_repeat(c: &mut AnyConnection, import: &Import) -> Result<(), Error> {
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
        let message = "The same content was imported before: send repeat=true to import it again.";
        let conflict = Error::conflict(message).with("importedAtUTC", at.to_string());
        return Err(conflict.with("file", file.name.as_str()));
    }
    Ok(())
}

/// Records the contents of an import. Waits if another transaction records the same content. When that one commits,
/// PostgreSQL reports a serialization failure, and the retried write finds its row in [`refuse_repeat`].
///
/// # Errors
/// 409 if the wait for another transaction times out.
pub(crate) fn record(c: &mut AnyConnection, import: &Import) -> Result<(), Error> {
    let now = Timestamp::now();
    let mut hashes: Vec<_> = import.files.iter().map(|file| &file.content_hash).collect();
    // In the same order in all transactions, to avoid deadlocks.
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
                let message = "Another request is importing the same content: try again later.";
                return Err(Error::conflict(message));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
