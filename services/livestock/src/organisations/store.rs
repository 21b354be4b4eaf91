//! The queries on suspended organisations.

use std::collections::BTreeSet;

use common::{Error, PageRequest, Reason, ResultPage};
use database::{AnyConnection, Id, Timestamp};
use diesel::dsl::exists;
use diesel::prelude::*;
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema::suspended_organisations::{self, dsl as s};

/// A suspended organisation.
#[derive(Clone, Debug, Serialize, Queryable, Selectable, ToSchema)]
#[serde(rename_all = "camelCase")]
#[diesel(table_name = crate::schema::suspended_organisations)]
pub(super) struct SuspendedOrganisation {
    /// The organisation's id.
    #[serde(rename = "id")]
    #[schema(rename = "id")]
    pub(super) organisation_id: String,
    /// Why it is suspended.
    pub(super) reason: String,
    /// When it was suspended.
    #[serde(rename = "suspendedAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(super) suspended_at: Timestamp,
    /// The place in lists.
    #[serde(skip)]
    #[schema(ignore)]
    #[diesel(column_name = id)]
    pub(super) position: Id,
}

/// Suspends an organisation, unless it is suspended already. Returns whether that changed it.
pub(super) fn suspend(c: &mut AnyConnection, organisation: &str, reason: &str) -> Result<bool, Error> {
    let row = (
        s::organisation_id.eq(organisation),
        s::id.eq(Id::new()),
        s::reason.eq(reason),
        s::suspended_at.eq(Timestamp::now()),
    );
    let stored = database::dispatch!(c, c => diesel::insert_into(suspended_organisations::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    Ok(stored > 0)
}

/// Ends a suspension. Returns whether there was one.
pub(super) fn reinstate(c: &mut AnyConnection, organisation: &str) -> Result<bool, Error> {
    Ok(diesel::delete(suspended_organisations::table.find(organisation)).execute(c)? > 0)
}

/// Returns a page of the suspended organisations, the last one first, and the number of all if `count` is true.
pub(super) fn list(c: &mut AnyConnection, page: &PageRequest, count: bool) -> Result<ResultPage, Error> {
    let mut query = suspended_organisations::table.into_boxed();
    if let Some((_, last)) = page.position() {
        query = query.filter(s::id.lt(last));
    }
    let query = query.order(s::id.desc()).offset(page.offset).limit(page.fetch());
    let rows: Vec<SuspendedOrganisation> = query.select(SuspendedOrganisation::as_select()).load(c)?;
    let total = count.then(|| suspended_organisations::table.count().get_result(c)).transpose()?;
    ResultPage::newest_first(rows.iter().map(|row| Ok((row.position, row))), page, total)
}

/// Returns the ids of all suspended organisations.
pub(crate) fn list_suspended(c: &mut AnyConnection) -> Result<BTreeSet<String>, Error> {
    Ok(s::suspended_organisations.select(s::organisation_id).load::<String>(c)?.into_iter().collect())
}

/// Returns true if there are suspended organisations.
pub(crate) fn any_suspended(c: &mut AnyConnection) -> Result<bool, Error> {
    Ok(s::suspended_organisations.select(s::organisation_id).first::<String>(c).optional()?.is_some())
}

/// Returns true if an organisation is suspended.
pub(crate) fn is_suspended(c: &mut AnyConnection, organisation: &str) -> Result<bool, Error> {
    Ok(diesel::select(exists(suspended_organisations::table.find(organisation))).get_result(c)?)
}

/// Checks that an organisation may publish listings and enquire.
///
/// # Errors
/// 403 with `body.reason` `suspended` if it is suspended.
pub(crate) fn check_not_suspended(c: &mut AnyConnection, organisation: &str) -> Result<(), Error> {
    if is_suspended(c, organisation)? {
        let message = "Your organisation is suspended: ask the administrators of the marketplace.";
        return Err(Error::Restricted(Reason::Suspended, message));
    }
    Ok(())
}
