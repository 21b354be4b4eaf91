//! Stores matches.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use common::Error;
use database::{AnyConnection, Id, Json};
use diesel::prelude::*;
use serde::Serialize;
use webhooks::Subject;

use super::lease::has_lease;
use crate::saved_searches::matching::model::{EventCursor, ListingMatches, Recorded};
use crate::schema::saved_search_cursor::dsl as r;
use crate::schema::saved_search_matches::{self, dsl as m};
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

#[derive(Insertable)]
#[diesel(table_name = saved_search_matches)]
struct MatchRow {
    search_id: Id,
    listing_id: Id,
    number: i64,
}

/// Stores matches that are not stored yet, with the deliveries of their events, and the cursor if there is one. Leaves
/// out searches that were deleted or notify nobody any more.
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
    let mut matches = 0;
    for listing in listings {
        matches += record_listing(c, listing, &mut searches)?;
    }
    if let Some(cursor) = cursor {
        diesel::update(r::saved_search_cursor.find(1)).set(cursor).execute(c)?;
    }
    Ok(Recorded::Stored { matches })
}

/// Stores the new matches of a listing. Returns their number.
fn record_listing(
    c: &mut AnyConnection,
    listing: &ListingMatches,
    searches: &mut HashMap<Id, MatchingSearch>,
) -> Result<usize, Error> {
    let ids: Vec<Id> = listing.searches.iter().map(|found| found.id).collect();
    let stored = m::saved_search_matches.filter(m::listing_id.eq(listing.listing_id));
    let stored: HashSet<Id> =
        stored.filter(m::search_id.eq_any(&ids)).select(m::search_id).load(c)?.into_iter().collect();
    let mut new = Vec::new();
    for id in ids.into_iter().filter(|id| !stored.contains(id)) {
        if let Some(search) = searches.get_mut(&id) {
            search.matched += 1;
            new.push(search.clone());
        }
    }
    if new.is_empty() {
        return Ok(0);
    }
    insert(c, listing.listing_id, &new)?;
    let ids = new.iter().map(|search| search.id);
    diesel::update(s::saved_searches.filter(s::id.eq_any(ids)))
        .set((s::matched.eq(s::matched + 1), s::revision.eq(s::revision + 1)))
        .execute(c)?;
    report(c, listing, &new)?;
    for search in new.iter().filter(|search| search.matched % FORGET_INTERVAL == 0) {
        let first = m::saved_search_matches.filter(m::search_id.eq(search.id));
        diesel::delete(first.filter(m::number.le(search.matched - MAX_REMEMBERED))).execute(c)?;
    }
    Ok(new.len())
}

fn insert(c: &mut AnyConnection, listing_id: Id, searches: &[MatchingSearch]) -> Result<(), Error> {
    let row = |search: &MatchingSearch| MatchRow { search_id: search.id, listing_id, number: search.matched };
    match c {
        AnyConnection::Postgres(c) => {
            let rows: Vec<_> = searches.iter().map(row).collect();
            diesel::insert_into(saved_search_matches::table).values(&rows).execute(c)?;
        }
        AnyConnection::Sqlite(c) => {
            for search in searches {
                diesel::insert_into(saved_search_matches::table).values(&row(search)).execute(c)?;
            }
        }
    }
    Ok(())
}

/// Stores one event for each organisation that the users acted for, with all matches of its users.
fn report(c: &mut AnyConnection, listing: &ListingMatches, searches: &[MatchingSearch]) -> Result<(), Error> {
    let mut by_organisation: BTreeMap<&str, Vec<&MatchingSearch>> = BTreeMap::new();
    for search in searches {
        by_organisation.entry(&search.organisation_id).or_default().push(search);
    }
    let events = by_organisation.into_iter().map(|(organisation, searches)| {
        let users: BTreeSet<&str> = searches.iter().map(|search| search.user_id.as_str()).collect();
        let users: Vec<&str> = users.into_iter().collect();
        Ok((organisation, details(&searches)?, users))
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
    webhooks::emit_many(c, MATCHED, "listing", &subjects)?;
    Ok(())
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
