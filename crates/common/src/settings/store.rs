//! The settings document is stored in a single row.

use database::{AnyConnection, Json};
use diesel::prelude::*;

use super::Document;
use crate::Error;
use crate::schema::settings::dsl::{document, id, settings};

/// Returns the stored document, if there is one.
pub(super) fn find(c: &mut AnyConnection) -> Result<Option<Document>, Error> {
    let row: Option<Json> = settings.find(1).select(document).first(c).optional()?;
    Ok(row.map(|json| json.parse()).transpose()?)
}

/// Stores the document.
pub(super) fn update(c: &mut AnyConnection, new: &Document) -> Result<(), Error> {
    let json = Json::of(new)?;
    let row = (id.eq(1), document.eq(&json));
    database::dispatch!(c, c => diesel::insert_into(settings)
        .values(row)
        .on_conflict(id)
        .do_update()
        .set(document.eq(&json))
        .execute(c))?;
    Ok(())
}
