//! Queries on single listings. Reads for a caller start from [`visible`]. Every change follows a read in the same
//! transaction.

mod rebuild;
mod row;

use std::collections::{HashMap, HashSet};

use common::{Caller, Error, Precondition, Visitor, WithEtag, system};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp, prepared};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use webhooks::{Event, EventDetails, Subject};

use crate::listings::edit::StoredListing;
use crate::listings::events::{self, Actor, NewEvent};
use crate::listings::model::{Listing, Status, append_suspended, append_wishlisted};
use crate::organisations::{check_not_suspended, is_suspended};
use crate::schema::listing_details::{self, dsl as d};
use crate::schema::listings::{self, dsl as l};
use crate::schema::suspended_organisations::dsl as o;
use crate::schema::wishlists::dsl as w;
use crate::webhook_events::UPDATED;

pub(super) use rebuild::has_stale_rows;
pub(crate) use rebuild::rebuild_stale_rows;
pub(super) use row::{ListingRow, ROW_VERSION, record_spellings};

/// The reason of the event that closes a listing because of reports.
const MODERATION: &str = "moderation";

/// A query on listings, which callers limit further.
pub(super) type Query<'a> = listings::BoxedQuery<'a, MultiBackend>;

/// The condition for listings that are not hidden by the suspension of their organisation, up to the bound id of the
/// organisation that sees its own ones.
const NOT_SUSPENDED: &str = "(listings.status <> 'active' OR listings.organisation_id NOT IN \
    (SELECT organisation_id FROM suspended_organisations) OR listings.organisation_id = ";

/// Excludes the active listings of suspended organisations other than the caller's.
pub(super) fn not_suspended<'a>(query: Query<'a>, caller: &'a Caller) -> Query<'a> {
    let own = caller.organisation_id_or_empty();
    query.filter(sql::<Bool>(NOT_SUSPENDED).bind::<Text, _>(own).sql(")"))
}

/// Selects the listings that a caller may see: all for `admin`; for others the published ones of organisations that are
/// not suspended, and all of their own organisation.
pub(super) fn visible(caller: &Caller) -> Query<'_> {
    let all = listings::table.into_boxed();
    if caller.admin {
        return all;
    }
    let published = l::status.ne(Status::Draft.as_str()).and(l::cancelled_as_draft.eq(false));
    let visible = all.filter(published.or(l::organisation_id.eq(caller.organisation_id_or_empty())));
    not_suspended(visible, caller)
}

/// Selects the listings that a search may return to the caller: those with the status, or all except drafts if there is
/// none. Drafts are found only by their own organisation; an `admin` reads others by id. Those of organisations that
/// are suspended are still to be excluded: [`not_suspended`].
pub(super) fn visible_with(caller: &Caller, status: Option<Status>) -> Query<'_> {
    let all = listings::table.into_boxed();
    match status {
        None => published_or_own(all.filter(l::status.ne(Status::Draft.as_str())), caller),
        Some(Status::Draft) => all
            .filter(l::status.eq(Status::Draft.as_str()))
            .filter(l::organisation_id.eq(caller.organisation_id_or_empty())),
        // A literal, because SQLite does not use a partial index with a bound value.
        Some(Status::Cancelled) => published_or_own(all.filter(sql::<Bool>("status = 'cancelled'")), caller),
        Some(status) => all.filter(l::status.eq(status.as_str())),
    }
}

/// Excludes the cancelled drafts of other organisations, unless the caller is `admin`.
fn published_or_own<'a>(query: Query<'a>, caller: &'a Caller) -> Query<'a> {
    if caller.admin {
        return query;
    }
    query.filter(l::cancelled_as_draft.eq(false).or(l::organisation_id.eq(caller.organisation_id_or_empty())))
}

/// Stores a new listing of a main category, with its first event.
pub(crate) fn create(
    c: &mut AnyConnection,
    listing: &Listing,
    category: i32,
    actor: Actor<'_>,
) -> Result<(), Error> {
    check_not_suspended(c, &listing.organisation_id)?;
    let row = ListingRow::of(listing, category)?;
    diesel::insert_into(listings::table).values(&row).execute(c)?;
    set_price_range(c, listing)?;
    if matches!(c, AnyConnection::Postgres(_)) {
        // SQLite has a trigger. PostgreSQL stores the time of the transaction.
        set_creation(c, listing)?;
    }
    system::record_uploaders(c, listing.id, &listing.files)?;
    let event = NewEvent::new(listing, None, actor);
    events::store::record(c, &event)?;
    report(c, listing.status_event(), &event, &row.document)?;
    record_spellings(c, listing)
}

/// Stores when a listing was created.
fn set_creation(c: &mut AnyConnection, listing: &Listing) -> Result<(), Error> {
    let created_at = d::first_stored_at.eq(listing.created_at);
    diesel::update(listing_details::table.find(listing.id)).set(created_at).execute(c)?;
    Ok(())
}

/// Stores the highest amount and the currency of the price of a listing.
pub(super) fn set_price_range(c: &mut AnyConnection, listing: &Listing) -> Result<(), Error> {
    let max = listing.price.max_amount();
    let columns = (
        d::max_price.eq(max.map(|money| money.amount.scaled())),
        d::currency.eq(max.map(|money| &*money.currency)),
    );
    diesel::update(listing_details::table.find(listing.id)).set(columns).execute(c)?;
    Ok(())
}

/// Stores the deliveries that report a change of a listing to the webhooks of its organisation, if the change is an
/// event of webhooks.
pub(super) fn report(
    c: &mut AnyConnection,
    name: Option<&'static str>,
    event: &NewEvent<'_>,
    document: &Json,
) -> Result<(), Error> {
    if let Some(name) = name {
        let NewEvent { listing, actor, changes, .. } = event;
        let details = EventDetails {
            user_id: Some(actor.user_id),
            organisation_id: actor.organisation_id,
            changes: (!changes.is_empty()).then(|| serde_json::to_value(changes)).transpose()?,
            ..EventDetails::default()
        };
        let subject = Subject {
            organisations: [&listing.organisation_id, ""],
            reaches_all: true,
            cause: actor.organisation_id.unwrap_or_default(),
            id: listing.id,
            document,
            details: &details.members()?,
            users: &[actor.user_id],
        };
        webhooks::emit(c, Event { name, member: "listing", subject })?;
    }
    Ok(())
}

/// Changes the status of a listing. Returns the listing and whether its status has changed.
///
/// # Errors
/// 404 if the listing does not exist, 403 if it belongs to another organisation, 409 if the lifecycle does not have the
/// transition, 412 if the condition names another revision.
pub(crate) fn change_status(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    condition: &Precondition,
    to: Status,
) -> Result<(Listing, bool), Error> {
    let mut listing = find_own(c, caller, id)?;
    let changes = listing.status.check_transition(to)?;
    condition.check(listing.revision)?;
    if !changes {
        return Ok((listing, false));
    }
    if to == Status::Active {
        check_not_suspended(c, &listing.organisation_id)?;
    }
    let reason = (to != Status::Active).then_some(to.as_str());
    set_status(c, caller, &mut listing, to, reason)?;
    Ok((listing, true))
}

/// Closes a listing as cancelled because of reports of it. Returns whether that changed it: a closed listing stays as
/// it is.
///
/// # Errors
/// 404 if the listing does not exist, 403 if the caller may not change it.
pub(crate) fn remove_by_moderation(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<bool, Error> {
    let mut listing = find_own(c, caller, id)?;
    let is_open = listing.status.is_open();
    if is_open {
        set_status(c, caller, &mut listing, Status::Cancelled, Some(MODERATION))?;
    }
    Ok(is_open)
}

/// Gives a listing another status and records it.
fn set_status(
    c: &mut AnyConnection,
    caller: &Caller,
    listing: &mut Listing,
    to: Status,
    reason: Option<&str>,
) -> Result<(), Error> {
    let from = listing.status;
    listing.status = to;
    if to == Status::Active {
        listing.published_at = Some(Timestamp::now());
    } else if from == Status::Active && listing.published_at.is_none() {
        // The previous release published it, and its rows do not say when.
        listing.published_at = events::store::published_at(c, &[listing.id])?.remove(&listing.id);
    }
    listing.revise();
    let document = Json::of(listing)?;
    let changes = (
        l::status.eq(to.as_str()),
        l::document.eq(&document),
        l::published_at.eq(listing.published_at.unwrap_or(listing.created_at)),
        l::cancelled_as_draft.eq(from == Status::Draft && to == Status::Cancelled),
        l::revision.eq(listing.revision),
    );
    diesel::update(listings::table.find(listing.id)).set(changes).execute(c)?;
    let event = NewEvent { reason, ..NewEvent::new(listing, Some(from), Actor::of(caller)) };
    events::store::record(c, &event)?;
    report(c, listing.status_event(), &event, &document)?;
    record_spellings(c, listing)
}

/// Returns a listing that the caller can see, with its main category.
///
/// # Errors
/// 404 if the listing does not exist, 403 if it belongs to another organisation and was never published.
pub(crate) fn find_stored(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<StoredListing, Error> {
    let found = visible(caller).filter(l::id.eq(id)).select((l::document, l::category, l::revision));
    let Some((document, category, revision)) = found.first::<(Json, i32, i64)>(c).optional()? else {
        return Err(not_visible(c, id));
    };
    Ok(StoredListing { listing: Listing::parse(&document, revision)?, category })
}

/// Stores the next revision of a listing and its event. Returns its document and revision.
pub(crate) fn update(
    c: &mut AnyConnection,
    before: &StoredListing,
    event: &NewEvent<'_>,
) -> Result<WithEtag, Error> {
    let (listing, revision) = (event.listing, event.listing.revision);
    let row = ListingRow::of(listing, before.category)?;
    let document = row.document.clone();
    diesel::update(listings::table.find(listing.id)).set((row, l::revision.eq(revision))).execute(c)?;
    set_price_range(c, listing)?;
    system::record_uploaders(c, listing.id, &listing.files)?;
    events::store::record(c, event)?;
    report(c, updated_event(listing), event, &document)?;
    record_spellings(c, listing)?;
    Ok(WithEtag { document: document.0, revision })
}

/// Returns the event that webhooks get after an edit. Editing a draft is none.
fn updated_event(listing: &Listing) -> Option<&'static str> {
    (listing.status == Status::Active).then_some(UPDATED)
}

/// Returns a draft that the caller may publish; `None` if the listing is active already.
///
/// # Errors
/// As [`change_status`].
pub(crate) fn find_publishable(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
) -> Result<Option<Listing>, Error> {
    let listing = find_own(c, caller, id)?;
    Ok(listing.status.check_transition(Status::Active)?.then_some(listing))
}

/// Returns the document of a listing.
///
/// # Errors
/// 404 if the listing does not exist, 403 if it belongs to another organisation and was never published.
pub(crate) fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Json, Error> {
    Ok(Json(find_revised(c, caller, id)?.document))
}

/// Returns the document of a listing and its revision.
///
/// # Errors
/// As [`find`].
pub(crate) fn find_revised(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<WithEtag, Error> {
    let found = visible(caller).filter(l::id.eq(id)).select((l::document, l::revision));
    let Some((document, revision)) = found.first::<(Json, i64)>(c).optional()? else {
        return Err(not_visible(c, id));
    };
    Ok(WithEtag { document: document.0, revision })
}

/// Appends to documents of active listings that their organisation is suspended, for callers who see these.
pub(super) fn mark_suspended<'a>(
    c: &mut AnyConnection,
    caller: &Caller,
    documents: impl Iterator<Item = (Id, &'a mut String)>,
) -> Result<(), Error> {
    if !caller.admin && !is_suspended(c, caller.organisation_id_or_empty())? {
        return Ok(());
    }
    let mut documents: HashMap<Id, &mut String> = documents.collect();
    let active = l::listings.filter(l::id.eq_any(documents.keys().copied().collect::<Vec<_>>()));
    let active = active.filter(l::status.eq(Status::Active.as_str()));
    let suspended = o::suspended_organisations.select(o::organisation_id);
    let suspended: Vec<Id> = active.filter(l::organisation_id.eq_any(suspended)).select(l::id).load(c)?;
    for id in suspended {
        if let Some(document) = documents.get_mut(&id) {
            append_suspended(document)?;
        }
    }
    Ok(())
}

/// Appends to the document of a listing what depends on the caller: whether it is on the wishlist, and suspended.
pub(super) fn mark(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    document: &mut String,
) -> Result<(), Error> {
    mark_wishlisted(c, caller, std::iter::once((id, &mut *document)))?;
    mark_suspended(c, caller, std::iter::once((id, document)))
}

/// Returns true for an active listing of a suspended organisation.
pub(crate) fn is_of_suspended(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    let active = l::listings.find(id).filter(l::status.eq(Status::Active.as_str()));
    let suspended = o::suspended_organisations.select(o::organisation_id);
    let of_suspended = active.filter(l::organisation_id.eq_any(suspended));
    Ok(diesel::select(diesel::dsl::exists(of_suspended)).get_result(c)?)
}

/// On SQLite, a shorter wishlist is read as a whole: this costs less than looking up the listings of a page in it.
const MANY_WISHES: u8 = 30;

/// Appends to documents of listings whether they are on the caller's wishlist.
pub(super) fn mark_wishlisted<'a>(
    c: &mut AnyConnection,
    caller: &Caller,
    documents: impl Iterator<Item = (Id, &'a mut String)>,
) -> Result<(), Error> {
    let documents: Vec<_> = documents.collect();
    if documents.is_empty() {
        return Ok(());
    }
    let wishes = || w::wishlists.filter(w::user_id.eq(&caller.user_id)).select(w::listing_id);
    let ids: Vec<Id> = documents.iter().map(|(id, _)| *id).collect();
    let mut found: Vec<Id> = match c {
        AnyConnection::Postgres(c) => wishes().filter(w::listing_id.eq_any(&ids)).load(c)?,
        AnyConnection::Sqlite(c) => wishes().limit(MANY_WISHES.into()).load(c)?,
    };
    if found.len() >= usize::from(MANY_WISHES) && matches!(c, AnyConnection::Sqlite(_)) {
        found = wishes().filter(prepared::has_id(c, "wishlists.listing_id", &ids)).load(c)?;
    }
    let found: HashSet<Id> = found.into_iter().collect();
    for (id, document) in documents {
        append_wishlisted(document, found.contains(&id))?;
    }
    Ok(())
}

/// Returns the documents of those of the listings that the caller sees, in any order.
pub(super) fn list_by_ids(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
) -> Result<Vec<(Id, Json)>, Error> {
    Ok(visible(caller).filter(l::id.eq_any(ids)).select((l::id, l::document)).load(c)?)
}

/// Returns the documents of those of the listings that the caller sees, in any order, each with what [`mark`] appends.
/// One query, as the feed promises.
pub(super) fn list_for_reader(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
) -> Result<Vec<(Id, Json)>, Error> {
    let wish =
        "EXISTS (SELECT 1 FROM wishlists WHERE wishlists.listing_id = listings.id AND wishlists.user_id = ";
    let is_wishlisted = sql::<Bool>(wish).bind::<Text, _>(&caller.user_id).sql(")");
    // Others do not see these.
    let is_suspended = sql::<Bool>(
        "(listings.status = 'active' AND \
         listings.organisation_id IN (SELECT organisation_id FROM suspended_organisations))",
    );
    let columns = (l::id, l::document, is_wishlisted, is_suspended);
    let query = visible(caller).filter(l::id.eq_any(ids)).select(columns);
    let mut found = Vec::new();
    for (id, mut document, is_wishlisted, is_suspended) in query.load::<(Id, Json, bool, bool)>(c)? {
        append_wishlisted(&mut document.0, is_wishlisted)?;
        if is_suspended {
            append_suspended(&mut document.0)?;
        }
        found.push((id, document));
    }
    Ok(found)
}

/// Returns a listing that the caller may change.
///
/// # Errors
/// 404 if the listing does not exist, 403 if it belongs to another organisation.
pub(super) fn find_own(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Listing, Error> {
    let WithEtag { document, revision } = find_revised(c, caller, id)?;
    let listing = Listing::parse(&Json(document), revision)?;
    listing.check_owner(caller)?;
    Ok(listing)
}

/// Returns the error for a listing that the caller cannot see.
pub(super) fn not_visible(c: &mut AnyConnection, id: Id) -> Error {
    if matches!(is_of_suspended(c, id), Ok(true)) {
        return Error::NotFound;
    }
    let message = "This listing is another organisation's and was never published.";
    exists(c, id).map_or_else(|error| error, |exists| Error::forbidden_or_not_found(exists, message))
}

/// Returns true if there is a listing with this id.
pub(super) fn exists(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    Ok(diesel::select(diesel::dsl::exists(listings::table.find(id))).get_result(c)?)
}

/// Returns an active listing.
///
/// # Errors
/// 404 if there is no active listing with this id.
pub(super) fn find_public(c: &mut AnyConnection, visitor: &Visitor, id: Id) -> Result<Listing, Error> {
    let found = visible_to_visitors(visitor).filter(l::id.eq(id)).select((l::document, l::revision));
    let (document, revision) = found.first::<(Json, i64)>(c).optional()?.ok_or(Error::NotFound)?;
    Listing::parse(&document, revision)
}

/// Returns the documents of those of these listings that are active, in any order and without what visitors do not see.
pub(super) fn list_public_by_ids(
    c: &mut AnyConnection,
    visitor: &Visitor,
    ids: &[Id],
) -> Result<Vec<(Id, Json)>, Error> {
    let rows: Vec<(Id, Json)> =
        visible_to_visitors(visitor).filter(l::id.eq_any(ids)).select((l::id, l::document)).load(c)?;
    let for_visitors =
        |(id, document): (Id, Json)| Ok((id, Json::of(&document.parse::<Listing>()?.for_visitors())?));
    rows.into_iter().map(for_visitors).collect()
}

/// Selects the listings that visitors see: active ones.
fn visible_to_visitors(visitor: &Visitor) -> Query<'_> {
    not_suspended(visible_with(visitor, Some(Status::Active)), visitor)
}
