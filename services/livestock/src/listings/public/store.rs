//! The queries for listings that visitors see: active ones.

use common::{Error, Visitor};
use database::{AnyConnection, Id, Json};
use diesel::prelude::*;

use crate::listings::model::{Listing, Status};
use crate::listings::store::{Query, not_suspended, visible_with};
use crate::schema::listings::dsl as l;

/// Returns the document of an active listing.
///
/// # Errors
/// 404 if there is no active listing with this id.
pub(in crate::listings) fn find(c: &mut AnyConnection, visitor: &Visitor, id: Id) -> Result<Json, Error> {
    active(visitor).filter(l::id.eq(id)).select(l::document).first(c).optional()?.ok_or(Error::NotFound)
}

/// Returns the documents of those of these listings that are active, in any order and without what visitors do not see.
pub(in crate::listings) fn list_by_ids(
    c: &mut AnyConnection,
    visitor: &Visitor,
    ids: &[Id],
) -> Result<Vec<(Id, Json)>, Error> {
    let rows: Vec<(Id, Json)> =
        active(visitor).filter(l::id.eq_any(ids)).select((l::id, l::document)).load(c)?;
    let for_visitors =
        |(id, document): (Id, Json)| Ok((id, Json::of(&document.parse::<Listing>()?.for_visitors())?));
    rows.into_iter().map(for_visitors).collect()
}

fn active(visitor: &Visitor) -> Query<'_> {
    not_suspended(visible_with(visitor, Some(Status::Active)), visitor)
}
