//! Queries on listings by their ids. What a caller reads begins from [`visible`]; what is changed was read before, in the
//! same transaction.

use common::{Caller, Error};
use database::{Amount, AnyConnection, Id, Json, MultiBackend, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use super::geo::Point;
use super::location::Location;
use super::model::{Listing, Status};
use super::search_fields::lines;
use crate::schema::listing_events::{self, dsl as e};
use crate::schema::listings::{self, dsl as l};
use crate::schema::spellings::{self, dsl as s};

pub(super) type Query<'a> = listings::BoxedQuery<'a, MultiBackend>;

/// The listings that a caller may see: all for `admin`; for others those that were published, and the drafts of their own
/// organisation, cancelled or not.
pub(super) fn visible(caller: &Caller) -> Query<'_> {
    let all = listings::table.into_boxed();
    if caller.admin {
        return all;
    }
    let published = l::status.ne(Status::Draft.as_str()).and(l::cancelled_as_draft.eq(false));
    all.filter(published.or(l::organisation_id.eq(caller.organisation_id())))
}

/// The listings of a status, or of all but drafts, that a caller may see. A search for drafts finds those of the caller's
/// own organisation only, although an admin may read others by their ids.
pub(super) fn visible_with(caller: &Caller, status: Option<Status>) -> Query<'_> {
    let all = listings::table.into_boxed();
    match status {
        None => published_or_own(all.filter(l::status.ne(Status::Draft.as_str())), caller),
        Some(Status::Draft) => all
            .filter(l::status.eq(Status::Draft.as_str()))
            .filter(l::organisation_id.eq(caller.organisation_id())),
        // A literal: with a bound value SQLite uses no partial index.
        Some(Status::Cancelled) => published_or_own(all.filter(sql::<Bool>("status = 'cancelled'")), caller),
        Some(status) => all.filter(l::status.eq(status.as_str())),
    }
}

/// Leaves out listings of other organisations that were cancelled as drafts, except for `admin`.
fn published_or_own<'a>(query: Query<'a>, caller: &'a Caller) -> Query<'a> {
    if caller.admin {
        return query;
    }
    query.filter(l::cancelled_as_draft.eq(false).or(l::organisation_id.eq(caller.organisation_id())))
}

/// What [`Row::of`] makes of a document. To be counted up with each change of it, so that [`derive`] mends the rows
/// that an older one made.
pub(super) const ROW_VERSION: i32 = 1;

/// A row: what is searched or sorted by, and the document.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = listings, treat_none_as_default_value = false, treat_none_as_null = true)]
struct Row {
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
    document: Json,
}

impl Row {
    fn of(listing: &Listing, category: i32) -> Result<Self, Error> {
        let particulars = listing.search_fields();
        let point = listing.location.as_ref().and_then(Location::point);
        let [x, y, z] = point.map(Point::unit).map_or([None; 3], |unit| unit.map(Some));
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
            age: scaled(particulars.age()),
            min_age: scaled(particulars.min_age),
            max_age: scaled(particulars.max_age),
            quantity: scaled(particulars.quantity),
            born: particulars.born,
            types: lines(&particulars.types),
            sexes: lines(&particulars.sexes),
            additional_info: lines(&particulars.additional_info),
            breed: particulars.breed,
            breed_type: particulars.breed_type,
            breed_society: particulars.breed_society,
            band: point.map(Point::band),
            lon: point.map(|point| point.lon),
            x,
            y,
            z,
            derived: ROW_VERSION,
            document: Json::of(listing)?,
        })
    }
}

/// Stores a new listing of this main category.
pub fn create(c: &mut AnyConnection, listing: &Listing, category: i32) -> Result<(), Error> {
    diesel::insert_into(listings::table).values(Row::of(listing, category)?).execute(c)?;
    record(c, listing, &listing.user_id, None, None)?;
    record_spellings(c, listing)
}

/// Stores that a listing, read in this transaction, went from this status to the one that it has now.
pub fn change_status(
    c: &mut AnyConnection,
    listing: &Listing,
    caller: &Caller,
    from: Status,
    reason: Option<&str>,
) -> Result<(), Error> {
    let cancelled_as_draft = from == Status::Draft && listing.status == Status::Cancelled;
    let changes = (
        l::status.eq(listing.status.as_str()),
        l::document.eq(Json::of(listing)?),
        l::cancelled_as_draft.eq(cancelled_as_draft),
    );
    diesel::update(listings::table.find(listing.id)).set(changes).execute(c)?;
    record(c, listing, &caller.user_id, Some(from), reason)?;
    record_spellings(c, listing)
}

/// Writes down who made a listing what it is now. The database gives the position.
fn record(
    c: &mut AnyConnection,
    listing: &Listing,
    user_id: &str,
    from: Option<Status>,
    reason: Option<&str>,
) -> Result<(), Error> {
    let event = (
        e::listing_id.eq(listing.id),
        e::user_id.eq(user_id),
        e::from_status.eq(from.map(Status::as_str)),
        e::to_status.eq(listing.status.as_str()),
        e::reason.eq(reason),
        e::at.eq(Timestamp::now()),
    );
    diesel::insert_into(listing_events::table).values(event).execute(c)?;
    Ok(())
}

/// Keeps how breeds and societies are written by the first on the market that names them, and which types there were.
/// Always in the same order, so that two who name the same ones never wait for each other.
fn record_spellings(c: &mut AnyConnection, listing: &Listing) -> Result<(), Error> {
    if matches!(listing.status, Status::Draft | Status::Cancelled) {
        return Ok(());
    }
    for (term, spelling) in listing.terms() {
        let values = (s::term.eq(term), s::spelling.eq(spelling));
        database::dispatch!(c, c => diesel::insert_into(spellings::table)
            .values(values)
            .on_conflict_do_nothing()
            .execute(c))?;
    }
    Ok(())
}

/// The document of a listing.
///
/// # Errors
/// 404 if there is none, 403 if it is another organisation's and was never published.
pub fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Json, Error> {
    let found = visible(caller).filter(l::id.eq(id)).select(l::document).first(c).optional()?;
    found.map_or_else(|| Err(missing(c, id)), Ok)
}

/// A listing that is to be changed.
///
/// # Errors
/// 404 if there is none, 403 if it is another organisation's.
pub fn find_own(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<Listing, Error> {
    let listing: Listing = find(c, caller, id)?.parse()?;
    if caller.admin || caller.acts_for(&listing.organisation_id) {
        Ok(listing)
    } else {
        Err(Error::Forbidden("This listing is another organisation's."))
    }
}

/// Why a caller does not see a listing.
fn missing(c: &mut AnyConnection, id: Id) -> Error {
    match diesel::select(diesel::dsl::exists(listings::table.find(id))).get_result(c) {
        Ok(true) => Error::Forbidden("This listing is another organisation's and was never published."),
        Ok(false) => Error::NotFound,
        Err(error) => error.into(),
    }
}

/// Mends some of the rows that an older state of the code made, and says whether there may be more; nothing while another
/// replica is at it.
pub fn rebuild_stale_rows(c: &mut AnyConnection) -> Result<Option<bool>, Error> {
    if let AnyConnection::Postgres(c) = c {
        let turn = sql::<Bool>("pg_try_advisory_xact_lock(hashtext('drover listings derive'))");
        if !diesel::select(turn).get_result::<bool>(c)? {
            return Ok(None);
        }
    }
    let stale = l::listings.filter(l::derived.lt(ROW_VERSION)).limit(500);
    let rows: Vec<(Id, i32, Json)> = stale.select((l::id, l::category, l::document)).load(c)?;
    for (id, category, document) in &rows {
        let row = diesel::update(listings::table.find(id));
        let Ok(listing) = document.parse::<Listing>() else {
            tracing::error!(listing = %id, "this listing's document is not understood: it is found as it was");
            row.set(l::derived.eq(ROW_VERSION)).execute(c)?;
            continue;
        };
        row.set(Row::of(&listing, *category)?).execute(c)?;
        record_spellings(c, &listing)?;
        // That state told nobody of it either.
        let told = e::listing_events.filter(e::listing_id.eq(id)).select(e::n);
        if !diesel::select(diesel::dsl::exists(told)).get_result::<bool>(c)? {
            record(c, &listing, &listing.user_id, None, None)?;
        }
    }
    Ok(Some(!rows.is_empty()))
}
