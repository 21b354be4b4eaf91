//! Which contents were imported.

use common::Error;
use database::{AnyConnection, Ts};
use diesel::prelude::*;

use super::plan::Import;
use crate::schema::imports::dsl as i;

/// 409 for what was imported before, unless it may be again.
pub fn refuse_repeat(c: &mut AnyConnection, import: &Import) -> Result<(), Error> {
    if import.repeat {
        return Ok(());
    }
    let row = i::imports.find((&import.organisation_id, &import.content_hash));
    match row.select(i::imported_at).first::<Ts>(c).optional()? {
        None => Ok(()),
        Some(at) => {
            let message = "The same content was imported before: send repeat=true to import it once more.";
            Err(Error::conflict(message).with("importedAtUTC", at.to_string()))
        }
    }
}

/// Records an import. If another transaction does so with the same content, this one waits for it; what comes of it
/// PostgreSQL cannot serialise, so the write runs again and finds the other's row.
pub fn record(c: &mut AnyConnection, import: &Import) -> Result<(), Error> {
    let now = Ts::now();
    let row = (
        i::organisation_id.eq(&import.organisation_id),
        i::content_hash.eq(&import.content_hash),
        i::imported_at.eq(now),
    );
    let recorded = database::dispatch!(c, c => diesel::insert_into(i::imports)
        .values(row)
        .on_conflict((i::organisation_id, i::content_hash))
        .do_update()
        .set(i::imported_at.eq(now))
        .execute(c));
    match recorded.map_err(database::Error::from) {
        Ok(_) => Ok(()),
        Err(error) if error.is_lock_timeout() => {
            Err(Error::conflict("The same content is being imported by another request: try again later."))
        }
        Err(error) => Err(error.into()),
    }
}
