//! Rebuilds the rows that an older version of the code wrote.

use std::collections::HashMap;
use std::time::Duration;

use common::Error;
use database::{Amount, AnyConnection, Database, Id, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use super::row::{ListingRow, ROW_VERSION, record_spellings};
use super::{Query, set_creation, set_price_range};
use crate::listings::events::{self, Actor, NewEvent};
use crate::listings::model::{Listing, Status};
use crate::schema::listing_events::dsl as e;
use crate::schema::listings::{self, dsl as l};

/// The version of 1.0. Of the columns, its rows lack those of [`NewColumns`](super::row::NewColumns) and the time of
/// creation. Their documents lack the times of publication and of the last change, and may have amounts that the type
/// of the price does not use.
const VERSION_WITHOUT_TEXT: i32 = 1;
/// Rows that are rebuilt in one transaction.
const MAX_REBUILT_ROWS: i64 = 500;
/// How long a replica waits before it tries again to lock the rebuilding of stale rows.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// What one call of [`rebuild_some`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RebuildStep {
    /// Rebuilt some rows. There may be more.
    RebuiltSome,
    /// Found no stale row.
    FoundNone,
    /// Did nothing, because another replica rebuilds rows at the moment.
    Locked,
}

/// A row to rebuild: its id, category and version, its document with the revision, and whether it is a cancelled draft.
type StaleRow = (Id, i32, i32, (Json, i64), bool);

/// Returns true if there are rows that an older version of the code wrote.
pub(in crate::listings) fn has_stale_rows(c: &mut AnyConnection) -> Result<bool, Error> {
    Ok(stale_rows().select(l::id).first::<Id>(c).optional()?.is_some())
}

/// Selects the rows that an older version of the code wrote. In the order of the index on versions, so that PostgreSQL
/// uses it regardless of statistics.
fn stale_rows() -> Query<'static> {
    l::listings.into_boxed().filter(l::derived.lt(ROW_VERSION)).order(l::derived)
}

/// Rebuilds all rows that an older version of the service wrote.
///
/// # Errors
/// If the database fails.
pub(crate) async fn rebuild_stale_rows(db: &Database) -> Result<(), Error> {
    loop {
        match db.write(rebuild_some).await? {
            RebuildStep::FoundNone => return Ok(()),
            RebuildStep::RebuiltSome => {}
            RebuildStep::Locked => tokio::time::sleep(LOCK_RETRY_INTERVAL).await,
        }
    }
}

/// Rebuilds up to 500 rows that an older version of the code wrote. On PostgreSQL one replica at a time does so.
fn rebuild_some(c: &mut AnyConnection) -> Result<RebuildStep, Error> {
    if let AnyConnection::Postgres(c) = c {
        let lock = sql::<Bool>("pg_try_advisory_xact_lock(hashtext('drover listings derive'))");
        if !diesel::select(lock).get_result::<bool>(c)? {
            return Ok(RebuildStep::Locked);
        }
    }
    let stale = stale_rows().limit(MAX_REBUILT_ROWS);
    let columns = (l::id, l::category, l::derived, (l::document, l::revision), l::cancelled_as_draft);
    let rows: Vec<StaleRow> = stale.select(columns).load(c)?;
    let ids: Vec<Id> = rows.iter().map(|(id, ..)| *id).collect();
    let published = events::store::published_at(c, &ids)?;
    let events =
        e::listing_events.filter(e::listing_id.eq_any(&ids)).order(e::n).select((e::listing_id, e::at));
    let last_events: HashMap<Id, Timestamp> = events.load::<(Id, Timestamp)>(c)?.into_iter().collect();
    for (id, category, version, (document, revision), cancelled_as_draft) in &rows {
        let row = diesel::update(listings::table.find(id));
        let Ok(mut listing) = document.parse::<Listing>() else {
            tracing::error!(listing = %id, "the document of a listing cannot be parsed; its columns stay as they are");
            row.set(l::derived.eq(ROW_VERSION)).execute(c)?;
            continue;
        };
        let was_published = listing.status != Status::Draft && !cancelled_as_draft;
        let published_at = published.get(id).copied().or(listing.published_at).unwrap_or(listing.created_at);
        listing.published_at = was_published.then_some(published_at);
        if listing.updated_at.is_none() {
            listing.updated_at = Some(last_events.get(id).copied().unwrap_or(listing.created_at));
        }
        listing.revision = *revision;
        let is_price_shown = listing.price.unused().is_empty();
        if !is_price_shown {
            // Clients that know the revision get the listing again.
            listing.revise();
        }
        listing.price = listing.price.without_unused();
        let row = row.set(l::document.eq(Json::of(&listing)?));
        row.execute(c)?;
        if !is_price_shown {
            let price = listing.price.sort_amount().map(Amount::scaled);
            let changes = (l::price.eq(price), l::revision.eq(listing.revision));
            diesel::update(listings::table.find(id)).set(changes).execute(c)?;
        }
        if published_at != listing.created_at && was_published {
            let changes = l::published_at.eq(published_at);
            diesel::update(listings::table.find(id)).set(changes).execute(c)?;
        }
        set_creation(c, &listing)?;
        set_price_range(c, &listing)?;
        let row = diesel::update(listings::table.find(id));
        let new = ListingRow::of(&listing, *category)?;
        if *version >= VERSION_WITHOUT_TEXT {
            // The other columns stay as they are, so that few indexes are written.
            row.set(new.without_old_columns()).execute(c)?;
            record_spellings(c, &listing)?;
            continue;
        }
        row.set(new).execute(c)?;
        record_spellings(c, &listing)?;
        // The oldest version wrote no events.
        let events = e::listing_events.filter(e::listing_id.eq(id)).select(e::n);
        if !diesel::select(diesel::dsl::exists(events)).get_result::<bool>(c)? {
            events::store::record(c, &NewEvent::new(&listing, None, Actor::creator(&listing)))?;
        }
    }
    Ok(if rows.is_empty() { RebuildStep::FoundNone } else { RebuildStep::RebuiltSome })
}
