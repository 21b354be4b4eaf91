//! Stores and forgets matches, and the lease of the replica that matches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use common::Error;
use database::{AnyConnection, Id, IdSql, Json, Timestamp, TimestampSql, prepared, shared_now};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text};
use serde::Serialize;
use uuid::Uuid;
use webhooks::{Emitted, MAX_DELIVERIES, Subject};

use super::{NewMatchEvent, lock_revision, store_match_events};
use crate::saved_searches::matching::model::{Lease, ListingMatches, Recorded, SavedSearchCursor};
use crate::schema::matched_listings::dsl as l;
use crate::schema::saved_search_cursor::dsl as r;
use crate::schema::saved_search_matches::dsl as m;
use crate::schema::saved_searches::{self, dsl as s};
use crate::webhook_events::MATCHED;

/// Matches that one transaction deletes.
const FORGET_BATCH_SIZE: i64 = 1_000;

/// A search that finds a listing.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = saved_searches)]
struct MatchingSearch {
    id: Id,
    user_id: String,
    organisation_id: String,
    name: String,
    version: i64,
}

/// What was reported for a listing.
struct Reported<'a> {
    /// The searches whose matches are new, by the organisation that their users acted for.
    searches: BTreeMap<&'a str, BTreeSet<Id>>,
    deliveries: usize,
    /// False if more of its matches are new, whose deliveries are too many for this transaction.
    is_complete: bool,
}

/// Stores matches that are not stored yet, with the deliveries of their events, and the cursor if there is one. Leaves
/// out searches that were deleted or notify nobody any more. If there are too many deliveries for one transaction,
/// stores some of the matches, and not the cursor.
pub(in crate::saved_searches::matching) fn record(
    c: &mut AnyConnection,
    replica: Id,
    listings: &[ListingMatches],
    cursor: Option<SavedSearchCursor>,
) -> Result<Recorded, Error> {
    if !has_lease(c, replica)? {
        return Ok(Recorded::LeaseLost);
    }
    let searches = matching_searches(c, listings)?;
    let found = listings.iter().flat_map(|listing| &listing.searches);
    let changed =
        found.filter(|found| searches.get(&found.id).is_some_and(|row| row.version != found.version));
    let changed: BTreeSet<Id> = changed.map(|found| found.id).collect();
    if !changed.is_empty() {
        return Ok(Recorded::Changed(changed.into_iter().collect()));
    }
    let mut matched = matched_before(c, listings)?;
    let mut counts: BTreeMap<Id, i64> = BTreeMap::new();
    let (mut stored, mut deliveries, mut is_complete) = (0, 0, true);
    let (mut events, at) = (Vec::new(), shared_now(c)?);
    for listing in listings {
        is_complete = is_complete && deliveries < MAX_DELIVERIES;
        if !is_complete {
            break;
        }
        let matched = matched.entry(listing.listing_id).or_default();
        let reported = report_new(c, listing, &searches, matched)?;
        for id in reported.searches.values().flatten() {
            *counts.entry(*id).or_default() += 1;
            stored += 1;
        }
        if !reported.searches.is_empty() {
            matched.extend(reported.searches.values().flatten());
            remember(c, listing.listing_id, matched)?;
            let revision = lock_revision(c, listing.listing_id)?;
            events.extend(reported.searches.into_iter().map(|(organisation, searches)| NewMatchEvent {
                id: Id::new(),
                listing_id: listing.listing_id,
                organisation_id: organisation.to_owned(),
                searches: bytes(&searches),
                revision,
                at,
            }));
        }
        deliveries += reported.deliveries;
        is_complete = reported.is_complete;
    }
    count(c, &counts)?;
    store_match_events(c, &events)?;
    if let (true, Some(cursor)) = (is_complete, cursor) {
        diesel::update(r::saved_search_cursor.find(1)).set(cursor).execute(c)?;
    }
    Ok(Recorded::Stored { matches: stored, is_complete })
}

/// Returns those of the searches that notify somebody.
fn matching_searches(
    c: &mut AnyConnection,
    listings: &[ListingMatches],
) -> Result<HashMap<Id, MatchingSearch>, Error> {
    let ids: BTreeSet<Id> =
        listings.iter().flat_map(|listing| &listing.searches).map(|found| found.id).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<Id> = ids.into_iter().collect();
    let rows = s::saved_searches.filter(s::notify).filter(prepared::has_id(c, "saved_searches.id", &ids));
    let rows: Vec<MatchingSearch> = rows.select(MatchingSearch::as_select()).load(c)?;
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}

/// Returns the searches that listings have matched. Those of an earlier release are in `saved_search_matches`.
fn matched_before(
    c: &mut AnyConnection,
    listings: &[ListingMatches],
) -> Result<HashMap<Id, BTreeSet<Id>>, Error> {
    let ids: Vec<Id> = listings.iter().map(|listing| listing.listing_id).collect();
    let rows = l::matched_listings.filter(l::listing_id.eq_any(&ids));
    let rows: Vec<(Id, Vec<u8>)> = rows.select((l::listing_id, l::searches)).load(c)?;
    let searches = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|id| Id(Uuid::from_bytes(*id))).collect();
    let mut matched: HashMap<Id, BTreeSet<Id>> =
        rows.iter().map(|(listing, bytes)| (*listing, searches(bytes))).collect();
    let rows = m::saved_search_matches.filter(m::listing_id.eq_any(&ids));
    for (listing, search) in rows.select((m::listing_id, m::search_id)).load(c)? {
        matched.entry(listing).or_default().insert(search);
    }
    Ok(matched)
}

/// Reports new matches of a listing: those of the first organisations, if all have too many deliveries.
fn report_new<'a>(
    c: &mut AnyConnection,
    listing: &ListingMatches,
    searches: &'a HashMap<Id, MatchingSearch>,
    matched: &BTreeSet<Id>,
) -> Result<Reported<'a>, Error> {
    // An event for each organisation that the users acted for.
    let mut new: BTreeMap<&str, Vec<&MatchingSearch>> = BTreeMap::new();
    let found = listing.searches.iter().filter(|found| !matched.contains(&found.id));
    for search in found.filter_map(|found| searches.get(&found.id)) {
        new.entry(&search.organisation_id).or_default().push(search);
    }
    let Emitted { subjects, deliveries } = report(c, listing, &new)?;
    let is_complete = subjects == new.len();
    let ids = |searches: Vec<&MatchingSearch>| searches.into_iter().map(|search| search.id).collect();
    let searches = new.into_iter().take(subjects).map(|(organisation, found)| (organisation, ids(found)));
    let searches = searches.collect();
    Ok(Reported { searches, deliveries, is_complete })
}

/// Returns ids as the tables store them, 16 bytes each.
fn bytes(ids: &BTreeSet<Id>) -> Vec<u8> {
    ids.iter().flat_map(|id| *id.0.as_bytes()).collect()
}

/// Stores which searches a listing has matched.
fn remember(c: &mut AnyConnection, listing: Id, searches: &BTreeSet<Id>) -> Result<(), Error> {
    let searches = bytes(searches);
    database::dispatch!(c, c => diesel::insert_into(l::matched_listings)
        .values((l::listing_id.eq(listing), l::searches.eq(&searches)))
        .on_conflict(l::listing_id)
        .do_update()
        .set(l::searches.eq(&searches))
        .execute(c))?;
    Ok(())
}

/// Adds to the matches of searches. One statement for all, which changes few pages.
fn count(c: &mut AnyConnection, counts: &BTreeMap<Id, i64>) -> Result<(), Error> {
    if counts.is_empty() {
        return Ok(());
    }
    let now = Timestamp::now();
    let upsert = |rows: &str| {
        diesel::sql_query(format!(
            "INSERT INTO saved_search_counts (search_id, matched, updated_at) SELECT {rows} WHERE true \
             ON CONFLICT (search_id) DO UPDATE SET matched = saved_search_counts.matched + excluded.matched, \
             updated_at = excluded.updated_at"
        ))
    };
    match c {
        AnyConnection::Postgres(c) => {
            let (ids, counts): (Vec<Id>, Vec<i64>) = counts.iter().unzip();
            let upsert = upsert("*, $3 FROM unnest($1, $2)");
            let upsert = upsert.bind::<Array<IdSql>, _>(ids).bind::<Array<BigInt>, _>(counts);
            upsert.bind::<TimestampSql, _>(now).execute(c)?;
        }
        AnyConnection::Sqlite(c) => {
            let counts: BTreeMap<_, _> = counts.iter().map(|(id, count)| (id.0.simple(), count)).collect();
            upsert("unhex(key), value, $1 FROM json_each($2)")
                .bind::<TimestampSql, _>(now)
                .bind::<Text, _>(Json::of(&counts)?.0)
                .execute(c)?;
        }
    }
    Ok(())
}

/// Stores one event for each of the first organisations, with all matches of its users, and one with the matches of all
/// these for the webhooks of scope `all`.
fn report(
    c: &mut AnyConnection,
    listing: &ListingMatches,
    searches: &BTreeMap<&str, Vec<&MatchingSearch>>,
) -> Result<Emitted, Error> {
    let events = searches.iter().map(|(organisation, searches)| Ok((*organisation, of_users(searches)?)));
    let events = events.collect::<Result<Vec<_>, Error>>()?;
    let subjects: Vec<_> =
        events.iter().map(|(organisation, event)| subject(listing, organisation, event)).collect();
    let mut emitted = webhooks::emit_many(c, MATCHED, "listing", &subjects)?;
    let reported: Vec<&MatchingSearch> =
        searches.values().take(emitted.subjects).flatten().copied().collect();
    if !reported.is_empty() {
        let of_all = of_users(&reported)?;
        let of_all = Subject { reaches_all: true, ..subject(listing, "", &of_all) };
        emitted.deliveries += webhooks::emit_many(c, MATCHED, "listing", &[of_all])?.deliveries;
    }
    Ok(emitted)
}

/// Returns an event for the webhooks of an organisation.
fn subject<'a>(
    listing: &'a ListingMatches,
    organisation: &'a str,
    (details, users): &'a (String, Vec<&'a str>),
) -> Subject<'a> {
    Subject {
        organisations: [organisation, ""],
        reaches_all: false,
        cause: &listing.organisation_id,
        id: listing.listing_id,
        document: &listing.document,
        details,
        users,
    }
}

/// Returns the members of `data` before the listing, and the users of the searches.
fn of_users<'a>(searches: &[&'a MatchingSearch]) -> Result<(String, Vec<&'a str>), Error> {
    let users: BTreeSet<&str> = searches.iter().map(|search| search.user_id.as_str()).collect();
    Ok((details(searches)?, users.into_iter().collect()))
}

/// Returns the members of `data` before the listing: those of the first match, and all matches.
fn details(searches: &[&MatchingSearch]) -> Result<String, Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Match<'a> {
        saved_search_id: Id,
        name: &'a str,
        user_id: &'a str,
    }
    let matches: Vec<_> = searches
        .iter()
        .map(|search| Match { saved_search_id: search.id, name: &search.name, user_id: &search.user_id })
        .collect();
    let first = matches.first().map(Json::of).transpose()?.map(|json| json.0).unwrap_or_default();
    let first = first.trim_start_matches('{').trim_end_matches('}');
    Ok(format!("{first},\"matches\":{},", Json::of(&matches)?.0))
}

/// Forgets which searches closed listings have matched, because they never match again. Deletes up to 1,000 matches of
/// an earlier release. Returns true if there may be more.
pub(in crate::saved_searches::matching) fn forget_matches(
    c: &mut AnyConnection,
    listings: &[Id],
) -> Result<bool, Error> {
    diesel::delete(l::matched_listings.filter(l::listing_id.eq_any(listings))).execute(c)?;
    let rows = m::saved_search_matches.filter(m::listing_id.eq_any(listings)).limit(FORGET_BATCH_SIZE);
    let rows: Vec<(Id, Id)> = rows.select((m::search_id, m::listing_id)).load(c)?;
    let mut by_listing: HashMap<Id, Vec<Id>> = HashMap::new();
    for (search, listing) in &rows {
        by_listing.entry(*listing).or_default().push(*search);
    }
    for (listing, searches) in by_listing {
        let matches = m::saved_search_matches.filter(m::listing_id.eq(listing));
        diesel::delete(matches.filter(m::search_id.eq_any(searches))).execute(c)?;
    }
    Ok(i64::try_from(rows.len()).is_ok_and(|count| count == FORGET_BATCH_SIZE))
}

/// Requests the lease for a replica, or extends it. On SQLite one process writes, so an earlier one has ended.
pub(in crate::saved_searches::matching) fn request_lease(
    c: &mut AnyConnection,
    replica: Id,
    duration: Duration,
) -> Result<Lease, Error> {
    let now = shared_now(c)?;
    let row = r::saved_search_cursor.find(1);
    let (holder, until): (Option<Id>, Option<Timestamp>) =
        row.select((r::replica, r::leased_until)).first(c)?;
    let is_leased = until.is_some_and(|until| until > now);
    if is_leased && holder != Some(replica) && matches!(c, AnyConnection::Postgres(_)) {
        return Ok(Lease::HeldByAnother);
    }
    diesel::update(row).set((r::replica.eq(replica), r::leased_until.eq(now.after(duration)))).execute(c)?;
    Ok(if is_leased && holder == Some(replica) { Lease::Kept } else { Lease::Acquired })
}

/// Ends the lease of a replica, if it has it.
pub(in crate::saved_searches::matching) fn release_lease(
    c: &mut AnyConnection,
    replica: Id,
) -> Result<(), Error> {
    let held = r::saved_search_cursor.find(1).filter(r::replica.eq(replica));
    diesel::update(held).set(r::leased_until.eq(None::<Timestamp>)).execute(c)?;
    Ok(())
}

/// Returns true if a replica was the last one to get the lease. No other one gets it until this transaction has ended.
fn has_lease(c: &mut AnyConnection, replica: Id) -> Result<bool, Error> {
    let holder = r::saved_search_cursor.find(1).select(r::replica);
    let holder: Option<Id> = match c {
        AnyConnection::Sqlite(c) => holder.first(c)?,
        AnyConnection::Postgres(c) => holder.for_no_key_update().first(c)?,
    };
    Ok(holder == Some(replica))
}
