//! Queries on reports.

use common::{Caller, Error, PageRequest, Reason, ResultPage, Sorting};
use database::search::{Column, SortValue};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp};
use diesel::prelude::*;

use super::model::{Report, ReportForm, ReportOutcome, ReportReason, ReportStatus, ResolveForm};
use crate::examples;
use crate::listings::{self, Listing};
use crate::schema::listings::dsl as l;
use crate::schema::reports::{self, dsl as r};

/// Reports of one listing that an admin can read.
const MAX_LISTED: i64 = 1_000;

/// Stores a report of a listing.
///
/// # Errors
/// As [`listings::find`]; 409 if the listing belongs to the caller's organisation, or the caller has reported it
/// before.
pub(crate) fn create(c: &mut AnyConnection, caller: &Caller, id: Id, form: &ReportForm) -> Result<(), Error> {
    let listing: Listing = listings::find(c, caller, id)?.parse()?;
    if caller.acts_for(&listing.organisation_id) {
        return Err(Error::conflict(Reason::OwnListing, "This listing is your own organisation's."));
    }
    let message = form.message.as_deref().filter(|message| !message.is_empty());
    let row = (
        r::id.eq(Id::new()),
        r::listing_id.eq(id),
        r::user_id.eq(&caller.user_id),
        r::reason.eq(form.reason.as_str()),
        r::message.eq(message),
        r::created_at.eq(Timestamp::now()),
        r::status.eq(ReportStatus::Open.as_str()),
    );
    let stored = diesel::insert_into(r::reports).values(row).execute(c);
    stored.map(drop).map_err(|e| match database::Error::from(e) {
        e if e.is_unique_violation("reports") => {
            Error::conflict(Reason::AlreadyReported, "You have reported this listing already.")
        }
        e => e.into(),
    })
}

/// Counts the reports of a listing.
pub(crate) fn count(c: &mut AnyConnection, listing: Id) -> Result<i64, Error> {
    Ok(r::reports.filter(r::listing_id.eq(listing)).count().get_result(c)?)
}

/// Returns the newest reports of a listing, newest first.
///
/// # Errors
/// As [`listings::find`].
pub(crate) fn list(c: &mut AnyConnection, caller: &Caller, listing: Id) -> Result<Vec<Report>, Error> {
    listings::find(c, caller, listing)?;
    let newest = r::reports
        .filter(r::listing_id.eq(listing))
        .order((r::created_at.desc(), r::id.desc()))
        .limit(MAX_LISTED)
        .select(Report::as_select());
    Ok(newest.load(c)?)
}

/// The filters of the queue and its order. `None` is no filter.
#[derive(Clone, Debug)]
pub(crate) struct ReportSearch {
    pub(crate) status: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) organisation_id: Option<String>,
    pub(crate) sorting: Sorting<()>,
}

fn matches(search: &ReportSearch) -> reports::BoxedQuery<'_, MultiBackend> {
    let mut query = reports::table.into_boxed();
    if let Some(status) = &search.status {
        query = query.filter(r::status.eq(status));
    }
    if let Some(reason) = &search.reason {
        query = query.filter(r::reason.eq(reason));
    }
    if let Some(id) = &search.organisation_id {
        query =
            query.filter(r::listing_id.eq_any(l::listings.filter(l::organisation_id.eq(id)).select(l::id)));
    }
    query
}

/// Returns a page of the reports that a search finds, and the number of all if `count` is true.
pub(crate) fn search(
    c: &mut AnyConnection,
    search: &ReportSearch,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let mut query = matches(search);
    let order_of_rows = search.sorting.order(Column("created_at"));
    if let Some(rows_after) = page.position().and_then(|position| order_of_rows.after(position)) {
        query = query.filter(rows_after);
    }
    let query = if search.sorting.desc {
        query.order((r::created_at.desc(), r::id.desc()))
    } else {
        query.order((r::created_at, r::id))
    };
    let query = query.offset(page.offset).limit(page.fetch());
    let rows: Vec<Report> = query.select(Report::as_select()).load(c)?;
    let row =
        |row: &Report| Ok((Json::of(row)?, (Some(SortValue::Integer(row.created_at.millis())), row.id)));
    let rows = rows.iter().map(row).collect::<Result<_, Error>>()?;
    let mut found = ResultPage::new(rows, page, &search.sorting);
    if count {
        found.total = Some(matches(search).count().get_result(c)?);
    }
    Ok(found)
}

/// Resolves a report, with `listing_removed` also its listing and the other open reports of it. Returns the id of the
/// listing if that was closed.
///
/// # Errors
/// 404 if the report does not exist, 409 if it has another outcome.
pub(crate) fn resolve(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    form: &ResolveForm,
) -> Result<Option<Id>, Error> {
    let report = r::reports.find(id).select((r::listing_id, r::outcome));
    let report = report.first::<(Id, Option<String>)>(c).optional()?;
    let Some((listing, outcome)) = report else { return Err(Error::NotFound) };
    match outcome {
        Some(outcome) if outcome == form.outcome.as_str() => return Ok(None),
        Some(outcome) => {
            return Err(Error::conflict(
                Reason::ResolvedDifferently,
                format!("This report is resolved already: {outcome}."),
            ));
        }
        None => {}
    }
    let note = form.note.as_deref().filter(|note| !note.is_empty());
    let resolved = (
        r::status.eq(ReportStatus::Resolved.as_str()),
        r::outcome.eq(form.outcome.as_str()),
        r::note.eq(note),
    );
    if form.outcome == ReportOutcome::Dismissed {
        diesel::update(r::reports.find(id)).set(resolved).execute(c)?;
        return Ok(None);
    }
    let open = r::reports.filter(r::listing_id.eq(listing)).filter(r::outcome.is_null());
    diesel::update(open).set(resolved).execute(c)?;
    Ok(listings::remove_by_moderation(c, caller, listing)?.then_some(listing))
}

/// Stores the report that the examples of the OpenAPI document name, unless it exists.
pub(crate) fn create_demo_report(c: &mut AnyConnection) -> Result<(), Error> {
    let [Some(id), Some(listing)] = [examples::REPORT, examples::FOREIGN_LISTING].map(Id::parse) else {
        return Err(Error::Internal(anyhow::anyhow!("an example is no id")));
    };
    if diesel::select(diesel::dsl::exists(r::reports.find(id))).get_result(c)? {
        return Ok(());
    }
    let row = (
        r::id.eq(id),
        r::listing_id.eq(listing),
        r::user_id.eq("bethan"),
        r::reason.eq(ReportReason::Misleading.as_str()),
        r::message.eq("The photograph shows other animals."),
        r::created_at.eq(Timestamp::now()),
        r::status.eq(ReportStatus::Open.as_str()),
    );
    diesel::insert_into(r::reports).values(row).execute(c)?;
    Ok(())
}
