//! Stores matches.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use common::Error;
use database::{AnyConnection, Id, IdSql, Json};
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};
use serde::Serialize;
use webhooks::{Emitted, MAX_DELIVERIES, Subject};

use super::lease::has_lease;
use crate::saved_searches::matching::model::{EventCursor, ListingMatches, Recorded};
use crate::schema::saved_search_cursor::dsl as r;
use crate::schema::saved_search_matches::dsl as m;
use crate::schema::saved_searches::{self, dsl as s};
use crate::webhook_events::MATCHED;

/// The listings that a search remembers. Above it, the first ones are forgotten: an edit may match them again.
const MAX_REMEMBERED: i64 = 10_000;
/// Matches of a search between two times that its first ones are forgotten.
const FORGET_INTERVAL: i64 = 1_000;
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
    matched: i64,
}

/// What was stored for a listing.
struct StoredMatches {
    matches: usize,
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
    cursor: Option<EventCursor>,
) -> Result<Recorded, Error> {
    if !has_lease(c, replica)? {
        return Ok(Recorded::LeaseLost);
    }
    let ids: HashSet<Id> =
        listings.iter().flat_map(|listing| &listing.searches).map(|found| found.id).collect();
    let rows = s::saved_searches.filter(s::id.eq_any(&ids)).filter(s::notify);
    let rows: Vec<MatchingSearch> = rows.select(MatchingSearch::as_select()).load(c)?;
    let mut searches: HashMap<Id, MatchingSearch> = rows.into_iter().map(|row| (row.id, row)).collect();
    let found = listings.iter().flat_map(|listing| &listing.searches);
    let changed =
        found.filter(|found| searches.get(&found.id).is_some_and(|row| row.version != found.version));
    let changed: BTreeSet<Id> = changed.map(|found| found.id).collect();
    if !changed.is_empty() {
        return Ok(Recorded::Changed(changed.into_iter().collect()));
    }
    let (mut matches, mut deliveries, mut is_complete) = (0, 0, true);
    for listing in listings {
        is_complete = is_complete && deliveries < MAX_DELIVERIES;
        if !is_complete {
            break;
        }
        let stored = record_listing(c, listing, &mut searches)?;
        matches += stored.matches;
        deliveries += stored.deliveries;
        is_complete = stored.is_complete;
    }
    if let (true, Some(cursor)) = (is_complete, cursor) {
        diesel::update(r::saved_search_cursor.find(1)).set(cursor).execute(c)?;
    }
    Ok(Recorded::Stored { matches, is_complete })
}

/// Stores new matches of a listing: those of the first organisations, if all have too many deliveries.
fn record_listing(
    c: &mut AnyConnection,
    listing: &ListingMatches,
    searches: &mut HashMap<Id, MatchingSearch>,
) -> Result<StoredMatches, Error> {
    let ids: Vec<Id> = listing.searches.iter().map(|found| found.id).collect();
    let stored = m::saved_search_matches.filter(m::listing_id.eq(listing.listing_id));
    let stored: HashSet<Id> =
        stored.filter(m::search_id.eq_any(&ids)).select(m::search_id).load(c)?.into_iter().collect();
    // An event for each organisation that the users acted for.
    let mut new: BTreeMap<&str, Vec<&MatchingSearch>> = BTreeMap::new();
    for search in ids.iter().filter(|id| !stored.contains(id)).filter_map(|id| searches.get(id)) {
        new.entry(&search.organisation_id).or_default().push(search);
    }
    let Emitted { subjects, deliveries } = report(c, listing, &new)?;
    let is_complete = subjects == new.len();
    let new: Vec<Id> = new.into_values().take(subjects).flatten().map(|search| search.id).collect();
    if !new.is_empty() {
        store(c, listing.listing_id, &new)?;
    }
    for id in &new {
        let Some(search) = searches.get_mut(id) else { continue };
        search.matched += 1;
        if search.matched % FORGET_INTERVAL == 0 {
            let first = m::saved_search_matches.filter(m::search_id.eq(search.id));
            diesel::delete(first.filter(m::number.le(search.matched - MAX_REMEMBERED))).execute(c)?;
        }
    }
    Ok(StoredMatches { matches: new.len(), deliveries, is_complete })
}

/// Stores that searches match a listing.
fn store(c: &mut AnyConnection, listing_id: Id, searches: &[Id]) -> Result<(), Error> {
    match c {
        AnyConnection::Postgres(c) => {
            let insert = "INSERT INTO saved_search_matches (search_id, listing_id, number) \
                          SELECT id, $1, matched + 1 FROM saved_searches WHERE id = ANY($2)";
            let update = "UPDATE saved_searches SET matched = matched + 1, revision = revision + 1 \
                          WHERE id = ANY($1)";
            diesel::sql_query(insert)
                .bind::<IdSql, _>(listing_id)
                .bind::<Array<IdSql>, _>(searches)
                .execute(c)?;
            diesel::sql_query(update).bind::<Array<IdSql>, _>(searches).execute(c)?;
        }
        AnyConnection::Sqlite(c) => {
            let insert = "INSERT INTO saved_search_matches (search_id, listing_id, number) \
                          SELECT id, $1, matched + 1 FROM saved_searches \
                          WHERE id IN (SELECT unhex(value) FROM json_each($2))";
            let update = "UPDATE saved_searches SET matched = matched + 1, revision = revision + 1 \
                          WHERE id IN (SELECT unhex(value) FROM json_each($1))";
            let ids: Vec<String> = searches.iter().map(|id| id.to_string().replace('-', "")).collect();
            let ids = Json::of(&ids)?.0;
            diesel::sql_query(insert).bind::<IdSql, _>(listing_id).bind::<Text, _>(&ids).execute(c)?;
            diesel::sql_query(update).bind::<Text, _>(&ids).execute(c)?;
        }
    }
    Ok(())
}

/// Stores one event for each of the first organisations, with all matches of its users.
fn report(
    c: &mut AnyConnection,
    listing: &ListingMatches,
    searches: &BTreeMap<&str, Vec<&MatchingSearch>>,
) -> Result<Emitted, Error> {
    let events = searches.iter().map(|(organisation, searches)| {
        let users: BTreeSet<&str> = searches.iter().map(|search| search.user_id.as_str()).collect();
        let users: Vec<&str> = users.into_iter().collect();
        Ok((*organisation, details(searches)?, users))
    });
    let events = events.collect::<Result<Vec<_>, Error>>()?;
    let subjects = events.iter().map(|(organisation, details, users)| Subject {
        organisations: [organisation, ""],
        cause: &listing.organisation_id,
        id: listing.listing_id,
        document: &listing.document,
        details,
        users,
    });
    let subjects: Vec<_> = subjects.collect();
    webhooks::emit_many(c, MATCHED, "listing", &subjects)
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

/// Deletes up to 1,000 matches of closed listings, which never match again. Returns true if there may be more.
pub(in crate::saved_searches::matching) fn forget_matches(
    c: &mut AnyConnection,
    listings: &[Id],
) -> Result<bool, Error> {
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
