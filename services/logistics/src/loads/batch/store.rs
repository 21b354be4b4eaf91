//! Queries on the contents that were imported.

use std::collections::HashMap;

use common::{Error, Reason};
use database::{AnyConnection, Timestamp};
use diesel::prelude::*;

use super::model::Import;
use crate::schema::imports::dsl as i;

/// Message for an import that waited too long for another one.
pub(super) const IMPORT_RUNNING: &str =
    "Another import of your organisation is being stored and nothing was changed: try again later.";

/// Returns an error if a file was imported before and the import is not a permitted repeat.
///
/// # Errors
/// 409 for the first such file.
pub(crate) fn refuse_repeat(c: &mut AnyConnection, import: &Import) -> Result<(), Error> {
    if !import.refuses_repeats() {
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
        let conflict = Error::conflict(Reason::ImportedBefore, message).with("importedAtUTC", at.to_string());
        return Err(conflict.with("file", file.name.as_str()));
    }
    Ok(())
}

/// Takes the place of a content hash in the record of the last import that looked for existing loads.
const LOOKUP: &str = "ifExists";

/// Makes imports of an organisation that look for existing loads run one after the other. Without this, two of them
/// could store the same load, because neither sees the other's. Waits for another such transaction. When that one
/// commits, PostgreSQL reports a serialization failure, and the retried write sees its loads.
///
/// # Errors
/// 503 if the wait for another transaction times out.
pub(crate) fn serialize_lookups(c: &mut AnyConnection, organisation_id: &str) -> Result<(), Error> {
    record_hash(c, organisation_id, LOOKUP, Timestamp::now())
        .map_err(|error| if error.is_lock_timeout() { Error::Busy(IMPORT_RUNNING) } else { error.into() })
}

/// Records the contents of an import. Waits if another transaction records the same content. When that one commits,
/// PostgreSQL reports a serialization failure, and the retried write finds its row in [`refuse_repeat`].
///
/// # Errors
/// 409 if the wait for another transaction times out, or 503 if repeats are permitted.
pub(crate) fn record(c: &mut AnyConnection, import: &Import) -> Result<(), Error> {
    let now = Timestamp::now();
    let mut hashes: Vec<_> = import.files.iter().map(|file| &file.content_hash).collect();
    // In the same order in all transactions, to avoid deadlocks.
    hashes.sort_unstable();
    for hash in hashes {
        match record_hash(c, &import.organisation_id, hash, now) {
            Ok(()) => {}
            Err(error) if error.is_lock_timeout() && import.refuses_repeats() => {
                let message = "Another request is importing the same content: try again later.";
                return Err(Error::conflict(Reason::ImportedBefore, message));
            }
            Err(error) if error.is_lock_timeout() => return Err(Error::Busy(IMPORT_RUNNING)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn record_hash(
    c: &mut AnyConnection,
    organisation_id: &str,
    hash: &str,
    now: Timestamp,
) -> Result<(), database::Error> {
    let row = (i::organisation_id.eq(organisation_id), i::content_hash.eq(hash), i::imported_at.eq(now));
    let recorded = database::dispatch!(c, c => diesel::insert_into(i::imports)
        .values(row)
        .on_conflict((i::organisation_id, i::content_hash))
        .do_update()
        .set(i::imported_at.eq(now))
        .execute(c));
    recorded.map(drop).map_err(database::Error::from)
}
