//! Events of listings, the searches that they are matched with, and the matches.

use database::{Id, Json};
use diesel::prelude::*;

use crate::listings::FacetColumns;
use crate::schema::{listings, saved_search_cursor, saved_searches};

/// Up to which event the listings were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Queryable, Selectable, AsChangeset)]
#[diesel(table_name = saved_search_cursor)]
pub(crate) struct EventCursor {
    /// The position of the last event; on SQLite its number.
    pub(crate) position: i64,
    /// The number of the last event.
    pub(crate) event: i64,
    /// The greatest number of the events so far. Positions order events in another way.
    pub(crate) last_event: i64,
    /// Events up to this number are skipped, whatever their positions.
    pub(crate) first_event: i64,
}

/// An event of a listing.
#[derive(Clone, Debug, Queryable)]
pub(crate) struct EventRow {
    pub(crate) n: i64,
    /// On SQLite the number.
    pub(crate) position: i64,
    pub(crate) listing_id: Id,
    pub(crate) to_status: String,
}

/// What follows a cursor.
#[derive(Debug)]
pub(crate) enum NextEvents {
    /// These events, and the cursor after them. Empty if there are none.
    Events(Vec<EventRow>, EventCursor),
    /// The database was moved to a server whose transactions have smaller ids: all positions are those of another
    /// server.
    Moved(EventCursor),
}

/// An active listing.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = listings)]
pub(crate) struct ListingToMatch {
    #[diesel(embed)]
    pub(crate) columns: FacetColumns,
    /// Tenths of a degree of latitude, rounded down.
    pub(crate) band: Option<i32>,
    /// Degrees east.
    pub(crate) lon: Option<f64>,
    pub(crate) document: Json,
}

/// A saved search with `notify`.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = saved_searches)]
pub(crate) struct SearchToMatch {
    pub(crate) id: Id,
    pub(crate) user_id: String,
    pub(crate) parameters: Json,
    pub(crate) version: i64,
    pub(crate) matches_from: i64,
}

/// The changes of searches after a position.
#[derive(Debug)]
pub(crate) struct SearchChanges {
    /// The position to read from the next time.
    pub(crate) position: i64,
    /// The numbers of the changes, with the ids of the searches that were saved, changed or deleted.
    pub(crate) changes: Vec<(i64, Id)>,
}

/// A search that finds a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchMatch {
    pub(crate) id: Id,
    /// The version of the search that was matched.
    pub(crate) version: i64,
    /// The user whose wishlist the listing must be on, if the search is limited to it.
    pub(crate) wishlist_of: Option<Box<str>>,
}

/// A listing and the searches that find it.
#[derive(Clone, Debug)]
pub(crate) struct ListingMatches {
    pub(crate) listing_id: Id,
    /// The organisation of the listing.
    pub(crate) organisation_id: String,
    pub(crate) document: Json,
    pub(crate) searches: Vec<SearchMatch>,
}

/// The outcome of storing matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// They are stored, or the first of them: the number of those that are new, and whether that are all.
    Stored { matches: usize, is_complete: bool },
    /// Nothing is stored: these searches have changed since they were matched.
    Changed(Vec<Id>),
    /// Nothing is stored: another replica has taken over.
    LeaseLost,
}

/// The outcome of a request for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// This replica had it all the time since its last request.
    Kept,
    /// This replica has it now.
    Acquired,
    /// Another replica has it.
    HeldByAnother,
}
