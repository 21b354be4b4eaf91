//! Queries on the feed.
//!
//! A page reads the places of the next rows first, changes, matches and enquiries each from an index, and then their
//! events. The number of rows is limited, so a page of rare types may have fewer events than its limit and `more`.

use std::collections::{BTreeSet, HashMap, HashSet};

use common::feed::{FeedEvents, FeedPage, MAX_WITH_RESOURCES, NewEvents, Place, Readers};
use common::{Caller, Error};
use database::feed::{self, SQLITE_POSITION};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp, prepared};
use diesel::dsl::{max, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::model::{
    FeedEventType, FeedListingEvent, FeedReader, FeedRow, FeedSearch, last_place_number, match_id, row_of,
};
use crate::listings::events::store::list_by_numbers;
use crate::listings::model::Enquiry;
use crate::listings::store::list_for_reader;
use crate::schema::enquiries::{self, dsl as q};
use crate::schema::listing_events::{self, dsl as e};
use crate::schema::match_events::{self, dsl as m};
use crate::schema::saved_search_cursor::dsl as r;
use crate::schema::saved_searches::dsl as s;

/// The most rows that a page of some types reads.
const MAX_ROWS: usize = 2_000;
/// The most changes of drafts that a page leaves out.
const MAX_DRAFTS: usize = 400;
/// The most new rows whose readers are found at a time.
const MAX_NEW: usize = 1_000;

/// Moves the positions of new events beyond those of all others. Call it before events are recorded.
pub(crate) fn align(c: &mut AnyConnection) -> Result<(), Error> {
    let last: [Option<i64>; 5] = [
        q::enquiries.select(max(q::position)).get_result(c)?,
        e::listing_events.select(max(e::position)).get_result(c)?,
        m::match_events.select(max(m::position)).get_result(c)?,
        r::saved_search_cursor.select(max(r::position)).get_result(c)?,
        s::saved_searches.select(max(s::matches_from)).get_result(c)?,
    ];
    Ok(feed::align(c, last.into_iter().flatten().max())?)
}

/// Returns the greatest number of the rows so far, also of deleted ones.
fn last_number(c: &mut AnyConnection) -> Result<i64, Error> {
    let last = match c {
        AnyConnection::Sqlite(_) => {
            "COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'listing_events'), 0)"
        }
        AnyConnection::Postgres(_) => "(SELECT last_value FROM listing_events_n_seq)",
    };
    Ok(diesel::select(sql::<BigInt>(last)).get_result(c)?)
}

/// Returns changes between a place and the position before which all are settled, oldest first. `owner`: of the
/// listings of one organisation, without those of drafts.
fn changes<'a>(
    c: &AnyConnection,
    after: Place,
    settled: i64,
    owner: Option<&'a str>,
) -> listing_events::BoxedQuery<'a, MultiBackend> {
    let (position, n, _) = row_of(after);
    let changes = e::listing_events.order((e::position, e::n)).into_boxed();
    let changes = match c {
        // SQLite would read the index of position and number from the beginning to compare both at once.
        AnyConnection::Sqlite(_) => changes.filter(e::position.eq(SQLITE_POSITION)).filter(e::n.gt(n)),
        AnyConnection::Postgres(_) => {
            let is_after = sql::<Bool>("(listing_events.position, listing_events.n) > (");
            let is_after = is_after.bind::<BigInt, _>(position).sql(", ").bind::<BigInt, _>(n).sql(")");
            changes.filter(is_after).filter(e::position.lt(settled))
        }
    };
    match owner {
        // A literal, because SQLite does not use a partial index with a bound value.
        Some(id) => {
            changes.filter(e::owner_id.eq(id)).filter(sql::<Bool>("listing_events.to_status <> 'draft'"))
        }
        None => changes,
    }
}

/// Returns matches from the row of a place on, up to the position before which all are settled, oldest first. `of`: of
/// the searches of one organisation's users.
fn matches<'a>(
    c: &AnyConnection,
    after: Place,
    settled: i64,
    of: Option<&'a str>,
) -> match_events::BoxedQuery<'a, MultiBackend> {
    let (position, n, _) = row_of(after);
    let matches = m::match_events.order((m::position, m::n)).into_boxed();
    let matches = match c {
        AnyConnection::Sqlite(_) => matches.filter(m::position.eq(SQLITE_POSITION)).filter(m::n.ge(n)),
        AnyConnection::Postgres(_) => {
            let is_after = sql::<Bool>("(match_events.position, match_events.n) >= (");
            let is_after = is_after.bind::<BigInt, _>(position).sql(", ").bind::<BigInt, _>(n).sql(")");
            matches.filter(is_after).filter(m::position.lt(settled))
        }
    };
    match of {
        Some(id) => matches.filter(m::organisation_id.eq(id)),
        None => matches,
    }
}

/// Returns enquiries from the row of a place on, up to the position before which all are settled, oldest first. `to`:
/// to one organisation.
fn enquiries<'a>(
    c: &AnyConnection,
    after: Place,
    settled: i64,
    to: Option<&'a str>,
) -> enquiries::BoxedQuery<'a, MultiBackend> {
    let (position, n, _) = row_of(after);
    let enquiries = q::enquiries.order((q::position, q::n)).into_boxed();
    let enquiries = match c {
        AnyConnection::Sqlite(_) => enquiries.filter(q::position.eq(SQLITE_POSITION)).filter(q::n.gt(n)),
        AnyConnection::Postgres(_) => {
            let is_after = sql::<Bool>("(enquiries.position, enquiries.n) > (");
            let is_after = is_after.bind::<BigInt, _>(position).sql(", ").bind::<BigInt, _>(n).sql(")");
            enquiries.filter(is_after).filter(q::position.lt(settled))
        }
    };
    match to {
        Some(id) => enquiries.filter(q::organisation_id.eq(id)),
        None => enquiries,
    }
}

type ChangeKey = (i64, i64, Id, Option<String>, String, bool);

/// Whether the market does not have a change: the organisation of the listing was suspended then, or is now.
const IS_HIDDEN: &str = "(listing_events.hidden IS NOT NULL OR COALESCE(listing_events.owner_id IN \
    (SELECT organisation_id FROM suspended_organisations), FALSE))";

impl FeedSearch {
    /// Returns up to `most` of the next rows, and whether these are all.
    fn rows(
        &self,
        c: &mut AnyConnection,
        after: Place,
        settled: i64,
        most: usize,
    ) -> Result<(Vec<FeedRow>, bool), Error> {
        let (organisation, limit) = (self.reader.organisation(), i64::try_from(most).unwrap_or(i64::MAX));
        let mut rows = Vec::new();
        if self.reader == FeedReader::Nobody {
            return Ok((rows, true));
        }
        if self.finds_changes() {
            let changes = changes(c, after, settled, organisation).limit(limit);
            let is_hidden = sql::<Bool>(IS_HIDDEN);
            let columns = (e::position, e::n, e::listing_id, e::from_status, e::to_status, is_hidden);
            let found: Vec<ChangeKey> = changes.select(columns).load(c)?;
            rows.extend(found.into_iter().map(|(position, n, listing, from, to, is_hidden)| {
                FeedRow::of_change((position, n, listing), from.as_deref(), &to, is_hidden)
            }));
        }
        if self.finds_matches() {
            let matches = matches(c, after, settled, organisation).limit(limit);
            let count = sql::<BigInt>("CAST(length(searches) / 16 AS BIGINT)");
            let found: Vec<(i64, i64, Id, i64)> =
                matches.select((m::position, m::n, m::listing_id, count)).load(c)?;
            let found = found.into_iter();
            rows.extend(
                found.map(|(position, n, listing, count)| FeedRow::of_matches((position, n, listing), count)),
            );
        }
        if self.finds_enquiries() {
            let enquiries = enquiries(c, after, settled, organisation).limit(limit);
            let found: Vec<(i64, i64, Id)> = enquiries.select((q::position, q::n, q::listing_id)).load(c)?;
            rows.extend(found.into_iter().map(FeedRow::of_enquiry));
        }
        rows.sort_unstable_by_key(FeedRow::end);
        let is_complete = rows.len() < most;
        rows.truncate(most);
        Ok((rows, is_complete))
    }

    /// Returns the events at places of rows.
    fn events(
        &self,
        c: &mut AnyConnection,
        caller: &Caller,
        found: &[(FeedRow, Place)],
    ) -> Result<FeedEvents, Error> {
        let mut shown = changes_at(c, found, self.reader.is_market())?;
        shown.extend(matches_at(c, found)?);
        shown.extend(enquiries_at(c, found)?);
        let listings = if self.with_listings { listings(c, caller, found)? } else { HashMap::new() };
        let mut events = FeedEvents::default();
        for (row, place) in found {
            let Some(mut event) = shown.remove(place) else { continue };
            event.listing = listings
                .get(&row.listing_id)
                .map(|found| RawValue::from_string(found.0.clone()))
                .transpose()?;
            events.push(*place, event.event_type.name(), &event)?;
        }
        Ok(events)
    }
}

impl common::feed::FeedSearch for FeedSearch {
    fn page(
        &self,
        c: &mut AnyConnection,
        caller: &Caller,
        after: Place,
        limit: usize,
    ) -> Result<FeedPage, Error> {
        let last = last_number(c)?;
        after.check(c, last_place_number(last))?;
        // Read before the events: those below it are all visible then.
        let settled = feed::settled_position(c)?;
        let limit = if self.with_listings { limit.min(MAX_WITH_RESOURCES) } else { limit };
        let most = match &self.reader {
            _ if !self.types.is_empty() => MAX_ROWS,
            FeedReader::Organisation(_) | FeedReader::Nobody => limit + 1,
            FeedReader::Admin | FeedReader::Market(_) => limit + 1 + MAX_DRAFTS,
        };
        let (rows, is_complete) = self.rows(c, after, settled, most)?;
        let events = rows.iter().filter(|row| self.finds(row));
        let events = events.flat_map(|row| row.places().map(move |place| (*row, place)));
        let mut found: Vec<_> = events.filter(|(_, place)| *place > after).take(limit + 1).collect();
        let is_cut = found.len() > limit;
        found.truncate(limit);
        let next = if is_cut { found.last().map(|(_, place)| *place) } else { rows.last().map(FeedRow::end) };
        let events = self.events(c, caller, &found)?;
        Ok(FeedPage { events, next: next.unwrap_or(after).max(after), more: is_cut || !is_complete })
    }

    fn end(c: &mut AnyConnection) -> Result<Place, Error> {
        let last = last_number(c)?;
        Place::end(c, last_place_number(last))
    }

    fn readers(&self) -> Readers {
        self.reader.readers()
    }
}

/// Returns the changes at places. `is_market`: without who made them, and with the status of a closed listing as its
/// reason.
fn changes_at(
    c: &mut AnyConnection,
    found: &[(FeedRow, Place)],
    is_market: bool,
) -> Result<HashMap<Place, FeedListingEvent>, Error> {
    let is_change = |(row, _): &&(FeedRow, Place)| {
        !matches!(row.event_type, Some(FeedEventType::Matched | FeedEventType::Enquiry))
    };
    let changes = found.iter().filter(is_change);
    let changes: HashMap<i64, (FeedRow, Place)> = changes.map(|found| (found.0.n, *found)).collect();
    if changes.is_empty() {
        return Ok(HashMap::new());
    }
    let numbers: Vec<i64> = changes.keys().copied().collect();
    let rows = list_by_numbers(c, &numbers)?.into_iter();
    let by = |name: Option<String>| name.filter(|_| !is_market);
    let events = rows.filter_map(|(n, revision, event)| {
        let (row, place) = changes.get(&n)?;
        let event_type = row.event_type?;
        let event = FeedListingEvent {
            id: event.id,
            event_type,
            at: event.at,
            listing_id: row.listing_id,
            revision: revision.unwrap_or(1),
            user_id: by(Some(event.user_id)),
            user_name: by(event.user_name),
            organisation_id: by(event.organisation_id),
            reason: event.reason.map(|reason| if is_market { event.to } else { reason }),
            changes: event.changes,
            saved_search_id: None,
            enquiry: None,
            listing: None,
        };
        Some((*place, event))
    });
    Ok(events.collect())
}

/// Returns the enquiries at places, without who sent them.
fn enquiries_at(
    c: &mut AnyConnection,
    found: &[(FeedRow, Place)],
) -> Result<HashMap<Place, FeedListingEvent>, Error> {
    let found = found.iter().filter(|(row, _)| row.event_type == Some(FeedEventType::Enquiry));
    let found: HashMap<i64, Place> = found.map(|(row, place)| (row.n, *place)).collect();
    if found.is_empty() {
        return Ok(HashMap::new());
    }
    let numbers: Vec<i64> = found.keys().copied().collect();
    let rows = q::enquiries.filter(prepared::has_number(c, "enquiries.n", &numbers));
    let rows: Vec<(i64, i64, Enquiry)> = rows.select((q::n, q::revision, Enquiry::as_select())).load(c)?;
    let events = rows.into_iter().filter_map(|(n, revision, enquiry)| {
        let event = FeedListingEvent {
            id: enquiry.id,
            event_type: FeedEventType::Enquiry,
            at: enquiry.created_at,
            listing_id: enquiry.listing_id,
            revision,
            user_id: None,
            user_name: None,
            organisation_id: None,
            reason: None,
            changes: None,
            saved_search_id: None,
            enquiry: Some(enquiry),
            listing: None,
        };
        Some((*found.get(&n)?, event))
    });
    Ok(events.collect())
}

/// A row of matches: its number and id, the organisation, the searches, the revision and the time.
type MatchRow = (i64, Id, String, Vec<u8>, i64, Timestamp);

/// Returns the matches at places. A row with more matches than a page is read once for each page.
fn matches_at(
    c: &mut AnyConnection,
    found: &[(FeedRow, Place)],
) -> Result<HashMap<Place, FeedListingEvent>, Error> {
    let found = found.iter().filter(|(row, _)| row.event_type == Some(FeedEventType::Matched));
    let found: Vec<_> = found.map(|(row, place)| (row.listing_id, *place, row_of(*place))).collect();
    if found.is_empty() {
        return Ok(HashMap::new());
    }
    let numbers: BTreeSet<i64> = found.iter().map(|(.., (_, n, _))| *n).collect();
    let numbers: Vec<i64> = numbers.into_iter().collect();
    let rows = m::match_events.filter(prepared::has_number(c, "match_events.n", &numbers));
    let rows = rows.select((m::n, m::id, m::organisation_id, m::searches, m::revision, m::at));
    let rows: HashMap<i64, MatchRow> =
        rows.load::<MatchRow>(c)?.into_iter().map(|row| (row.0, row)).collect();
    let matches = found.into_iter().filter_map(|(listing_id, place, (_, n, part))| {
        let (_, id, organisation, searches, revision, at) = rows.get(&n)?;
        let (searches, _) = searches.as_chunks();
        let search = searches.get(usize::try_from(part).ok()?)?;
        let event = FeedListingEvent {
            id: match_id(*id, part),
            event_type: FeedEventType::Matched,
            at: *at,
            listing_id,
            revision: *revision,
            user_id: None,
            user_name: None,
            organisation_id: Some(organisation.clone()).filter(|id| !id.is_empty()),
            reason: None,
            changes: None,
            saved_search_id: Some(Id(Uuid::from_bytes(*search))),
            enquiry: None,
            listing: None,
        };
        Some((place, event))
    });
    let mut matches: HashMap<Place, FeedListingEvent> = matches.collect();
    let searches: HashSet<Id> = matches.values().filter_map(|event| event.saved_search_id).collect();
    let users = s::saved_searches.filter(s::id.eq_any(searches)).select((s::id, s::user_id));
    let users: HashMap<Id, String> = users.load(c)?.into_iter().collect();
    for event in matches.values_mut() {
        event.user_id = event.saved_search_id.and_then(|id| users.get(&id).cloned());
    }
    Ok(matches)
}

/// Returns the listings of events as they are now, those that the caller may read.
fn listings(
    c: &mut AnyConnection,
    caller: &Caller,
    found: &[(FeedRow, Place)],
) -> Result<HashMap<Id, Json>, Error> {
    let ids: BTreeSet<Id> = found.iter().map(|(row, _)| row.listing_id).collect();
    Ok(list_for_reader(c, caller, &ids.into_iter().collect::<Vec<_>>())?.into_iter().collect())
}

/// A new row: its position, its number and the organisation that reads it.
type NewRow = (i64, i64, Option<String>);

/// Returns the end of the events after a place, and their readers; `None` if there are none. Without a place, returns
/// the end of the feed, with all readers.
pub(crate) fn find_new(c: &mut AnyConnection, after: Option<Place>) -> Result<Option<NewEvents>, Error> {
    let Some(after) = after else {
        let end = <FeedSearch as common::feed::FeedSearch>::end(c)?;
        return Ok(Some(NewEvents { end, readers: Readers { all: true, ..Readers::default() } }));
    };
    let (settled, limit) = (feed::settled_position(c)?, i64::try_from(MAX_NEW).unwrap_or(i64::MAX));
    let changes = changes(c, after, settled, None).limit(limit);
    // Who waits is not woken by the changes of drafts.
    let reader = sql::<Nullable<Text>>("CASE WHEN to_status <> 'draft' THEN owner_id END");
    let mut rows: Vec<NewRow> = changes.select((e::position, e::n, reader)).load(c)?;
    let columns = (m::position, m::n, m::organisation_id.nullable());
    rows.extend(matches(c, after, settled, None).limit(limit).select(columns).load::<NewRow>(c)?);
    let columns = (q::position, q::n, q::organisation_id.nullable());
    rows.extend(enquiries(c, after, settled, None).limit(limit).select(columns).load::<NewRow>(c)?);
    let place = |row: &NewRow| Place { position: row.0, n: last_place_number(row.1) };
    rows.retain(|row| place(row) > after);
    rows.sort_unstable_by_key(place);
    rows.truncate(MAX_NEW);
    let Some(end) = rows.last().map(place) else { return Ok(None) };
    let organisations = rows.into_iter().filter_map(|(.., organisation)| organisation).collect();
    Ok(Some(NewEvents { end, readers: Readers { organisations, ..Readers::default() } }))
}
