//! Queries on single listings. Reads for a caller start from [`visible`]. Every change follows a read in the same
//! transaction.

use common::{Caller, Error, Revised, files};
use database::{Amount, AnyConnection, Id, Json, MultiBackend, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Text};
use webhooks::{Event, Subject};

use super::events::{self, Actor, NewEvent};
use super::geo::Point;
use super::location::Location;
use super::model::{Listing, Status};
use super::search_fields::lines;
use super::search_text::search_text;
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::{self, dsl as l};
use crate::schema::spellings::{self, dsl as s};

/// The reason of the event that closes a listing because of reports.
const MODERATION: &str = "moderation";

/// A query on listings, which callers limit further.
pub(super) type Query<'a> = listings::BoxedQuery<'a, MultiBackend>;

/// Selects the listings that a caller may see: all for `admin`; for others the published ones, and the drafts and
/// cancelled drafts of their own organisation.
pub(super) fn visible(caller: &Caller) -> Query<'_> {
    let all = listings::table.into_boxed();
    if caller.admin {
        return all;
    }
    let published = l::status.ne(Status::Draft.as_str()).and(l::cancelled_as_draft.eq(false));
    all.filter(published.or(l::organisation_id.eq(caller.organisation_id_or_empty())))
}

/// Selects the listings that a search may return to the caller: those with the status, or all except drafts if there is
/// none. Drafts are found only by their own organisation; an `admin` reads others by id.
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

/// The version of the columns that [`ListingRow::of`] derives from a document. Increment it with each change there, so
/// that [`rebuild_stale_rows`] rebuilds the rows of older versions.
pub(super) const ROW_VERSION: i32 = 2;
/// The version whose rows lack nothing but `search_text`: that of the previous release.
const VERSION_WITHOUT_TEXT: i32 = 1;

/// Rows that are rebuilt in one transaction.
const MAX_REBUILT_ROWS: i64 = 500;

/// A row of a listing: the columns that searches filter and sort by, and the document. `schema.rs` has the units.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = listings, treat_none_as_default_value = false, treat_none_as_null = true)]
pub(super) struct ListingRow {
    id: Id,
    organisation_id: String,
    kind: &'static str,
    status: &'static str,
    category: i32,
    created_at: Timestamp,
    organisation_key: String,
    price: Option<i64>,
    age: Option<i64>,
    min_age: Option<i64>,
    max_age: Option<i64>,
    quantity: Option<i64>,
    born: Option<i64>,
    breed: Option<String>,
    breed_type: Option<String>,
    breed_society: Option<String>,
    types: String,
    sexes: String,
    additional_info: String,
    band: Option<i32>,
    lon: Option<f64>,
    x: Option<f64>,
    y: Option<f64>,
    z: Option<f64>,
    derived: i32,
    pub(super) document: Json,
    search_text: Option<String>,
}

impl ListingRow {
    pub(super) fn of(listing: &Listing, category: i32) -> Result<Self, Error> {
        let fields = listing.search_fields();
        let point = listing.location.as_ref().and_then(Location::point);
        let [x, y, z] = point.map(Point::unit_vector).map_or([None; 3], |vector| vector.map(Some));
        let scaled = |amount: Option<Amount>| amount.map(Amount::scaled);
        Ok(Self {
            id: listing.id,
            organisation_id: listing.organisation_id.clone(),
            kind: listing.kind.as_str(),
            status: listing.status.as_str(),
            category,
            created_at: listing.created_at,
            organisation_key: listing.organisation_name.to_lowercase(),
            price: scaled(listing.price.sort_amount()),
            age: scaled(fields.age()),
            min_age: scaled(fields.min_age),
            max_age: scaled(fields.max_age),
            quantity: scaled(fields.quantity),
            born: fields.born,
            types: lines(&fields.types),
            sexes: lines(&fields.sexes),
            additional_info: lines(&fields.additional_info),
            breed: fields.breed,
            breed_type: fields.breed_type,
            breed_society: fields.breed_society,
            band: point.map(Point::band),
            lon: point.map(|point| point.lon),
            x,
            y,
            z,
            derived: ROW_VERSION,
            document: Json::of(listing)?,
            search_text: Some(search_text(listing)),
        })
    }
}

/// Stores a new listing of a main category, with its first event.
pub(crate) fn create(
    c: &mut AnyConnection,
    listing: &Listing,
    category: i32,
    actor: Actor<'_>,
) -> Result<(), Error> {
    let row = ListingRow::of(listing, category)?;
    diesel::insert_into(listings::table).values(&row).execute(c)?;
    files::record_uploaders(c, listing.id, &listing.files)?;
    events::store::record(c, &NewEvent::new(listing, None, actor))?;
    report(c, listing.status_event(), listing, &row.document)?;
    record_spellings(c, listing)
}

/// Stores the deliveries of an event, if there is one, that reports a change of a listing to the webhooks of its
/// organisation.
pub(super) fn report(
    c: &mut AnyConnection,
    event: Option<&'static str>,
    listing: &Listing,
    document: &Json,
) -> Result<(), Error> {
    if let Some(name) = event {
        let subject = Subject { organisations: [&listing.organisation_id, ""], document, details: &[] };
        webhooks::emit(c, Event { name, member: "listing", subject })?;
    }
    Ok(())
}

/// Changes the status of a listing. Returns the listing and whether its status has changed.
///
/// # Errors
/// 404 if the listing does not exist, 403 if it belongs to another organisation, 409 if the lifecycle does not have the
/// transition.
pub(crate) fn change_status(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    to: Status,
) -> Result<(Listing, bool), Error> {
    let mut listing = find_own(c, caller, id)?;
    if !listing.status.check_transition(to)? {
        return Ok((listing, false));
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
    let is_open = matches!(listing.status, Status::Draft | Status::Active);
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
    let document = Json::of(listing)?;
    let changes = (
        l::status.eq(to.as_str()),
        l::document.eq(&document),
        l::cancelled_as_draft.eq(from == Status::Draft && to == Status::Cancelled),
        l::revision.eq(l::revision + 1),
    );
    diesel::update(listings::table.find(listing.id)).set(changes).execute(c)?;
    let event = NewEvent { reason, ..NewEvent::new(listing, Some(from), Actor::of(caller)) };
    events::store::record(c, &event)?;
    report(c, listing.status_event(), listing, &document)?;
    record_spellings(c, listing)
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

#[diesel::declare_sql_function]
extern "SQL" {
    /// Inserts the terms that are not there. Returns their number.
    fn insert_spellings(terms: Array<Text>, spellings: Array<Text>) -> Integer;
}

/// Records the terms of a published listing. The first listing with a breed or society determines its spelling in
/// facets. The terms are written in ascending order, so that concurrent transactions cannot deadlock.
pub(super) fn record_spellings(c: &mut AnyConnection, listing: &Listing) -> Result<(), Error> {
    if matches!(listing.status, Status::Draft | Status::Cancelled) {
        return Ok(());
    }
    let terms = listing.terms();
    match c {
        // One round trip, and no failure if a concurrent transaction records the same term.
        AnyConnection::Postgres(c) => {
            let (terms, spellings): (Vec<_>, Vec<_>) = terms.into_iter().unzip();
            diesel::select(insert_spellings(terms, spellings)).execute(c)?;
        }
        AnyConnection::Sqlite(c) => {
            for (term, spelling) in terms {
                let values = (s::term.eq(term), s::spelling.eq(spelling));
                diesel::insert_into(spellings::table).values(values).on_conflict_do_nothing().execute(c)?;
            }
        }
    }
    Ok(())
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
pub(crate) fn find_revised(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Revised, Error> {
    let found = visible(caller).filter(l::id.eq(id)).select((l::document, l::revision));
    let Some((document, revision)) = found.first::<(Json, i64)>(c).optional()? else {
        return Err(not_visible(c, id));
    };
    Ok(Revised { document: document.0, revision })
}

/// Returns a listing that the caller may change.
///
/// # Errors
/// 404 if the listing does not exist, 403 if it belongs to another organisation.
pub(super) fn find_own(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Listing, Error> {
    let listing: Listing = find(c, caller, id)?.parse()?;
    listing.check_owner(caller)?;
    Ok(listing)
}

/// Returns the error for a listing that the caller cannot see.
pub(super) fn not_visible(c: &mut AnyConnection, id: Id) -> Error {
    let message = "This listing is another organisation's and was never published.";
    exists(c, id).map_or_else(|error| error, |exists| Error::forbidden_or_not_found(exists, message))
}

/// Returns true if there is a listing with this id.
pub(super) fn exists(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    Ok(diesel::select(diesel::dsl::exists(listings::table.find(id))).get_result(c)?)
}

/// What one call of [`rebuild_stale_rows`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RebuildStep {
    /// Rebuilt some rows. There may be more.
    RebuiltSome,
    /// Found no stale row.
    FoundNone,
    /// Did nothing, because another replica rebuilds rows at the moment.
    Locked,
}

/// Returns true if there are rows that an older version of the code wrote.
pub(super) fn has_stale_rows(c: &mut AnyConnection) -> Result<bool, Error> {
    Ok(stale_rows().select(l::id).first::<Id>(c).optional()?.is_some())
}

/// Selects the rows that an older version of the code wrote. In the order of the index on versions, so that PostgreSQL
/// uses it regardless of statistics.
fn stale_rows() -> Query<'static> {
    l::listings.into_boxed().filter(l::derived.lt(ROW_VERSION)).order(l::derived)
}

/// Rebuilds up to 500 rows that an older version of the code wrote. On PostgreSQL one replica at a time does so.
pub(super) fn rebuild_stale_rows(c: &mut AnyConnection) -> Result<RebuildStep, Error> {
    if let AnyConnection::Postgres(c) = c {
        let lock = sql::<Bool>("pg_try_advisory_xact_lock(hashtext('drover listings derive'))");
        if !diesel::select(lock).get_result::<bool>(c)? {
            return Ok(RebuildStep::Locked);
        }
    }
    let stale = stale_rows().limit(MAX_REBUILT_ROWS);
    let rows: Vec<(Id, i32, i32, Json)> =
        stale.select((l::id, l::category, l::derived, l::document)).load(c)?;
    for (id, category, version, document) in &rows {
        let row = diesel::update(listings::table.find(id));
        let Ok(listing) = document.parse::<Listing>() else {
            tracing::error!(listing = %id, "the document of a listing cannot be parsed; its columns stay as they are");
            row.set(l::derived.eq(ROW_VERSION)).execute(c)?;
            continue;
        };
        if *version == VERSION_WITHOUT_TEXT {
            // The other columns stay as they are, so that few indexes are written.
            row.set((l::search_text.eq(search_text(&listing)), l::derived.eq(ROW_VERSION))).execute(c)?;
            continue;
        }
        row.set(ListingRow::of(&listing, *category)?).execute(c)?;
        record_spellings(c, &listing)?;
        // The oldest version wrote no events.
        let events = e::listing_events.filter(e::listing_id.eq(id)).select(e::n);
        if !diesel::select(diesel::dsl::exists(events)).get_result::<bool>(c)? {
            events::store::record(c, &NewEvent::new(&listing, None, Actor::creator(&listing)))?;
        }
    }
    Ok(if rows.is_empty() { RebuildStep::FoundNone } else { RebuildStep::RebuiltSome })
}
