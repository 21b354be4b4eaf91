//! The data that the index is built from.

use std::collections::HashSet;

use database::Id;
use diesel::prelude::*;

use crate::listings::store::ROW_VERSION;

/// The columns of a listing that the index uses. `schema.rs` has the units.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::listings)]
pub struct FacetColumns {
    pub id: Id,
    pub organisation_id: String,
    pub kind: String,
    pub status: String,
    pub category: i32,
    pub min_age: Option<i64>,
    pub max_age: Option<i64>,
    pub born: Option<i64>,
    pub breed: Option<String>,
    pub breed_type: Option<String>,
    pub breed_society: Option<String>,
    pub types: String,
    pub sexes: String,
    pub additional_info: String,
    pub derived: i32,
    pub x: Option<f64>,
    pub y: Option<f64>,
    pub z: Option<f64>,
    pub cancelled_as_draft: bool,
}

/// The listings that changed after an [`EventCursor`].
#[derive(Debug)]
pub struct Changes {
    /// The position to read from the next time.
    pub position: i64,
    /// The numbers of the events that were read. The next read may find them again.
    pub seen: HashSet<i64>,
    pub rows: Vec<FacetColumns>,
    /// The public spellings of the terms in the rows.
    pub spellings: Vec<(String, String)>,
    pub private_spellings: Vec<PrivateSpelling>,
}

/// The spelling of a breed or society in a listing that was never published. Only its organisation sees it.
#[derive(Clone, Debug)]
pub struct PrivateSpelling {
    pub organisation_id: String,
    pub term: String,
    pub spelling: String,
}

/// The position up to which the events of listings were read.
#[derive(Clone, Debug, Default)]
pub struct EventCursor {
    /// The number of the read that set the cursor.
    pub read: u64,
    /// All events before this position were read; 0 before the first read.
    pub position: i64,
    /// The numbers of later events that were read too.
    pub seen: HashSet<i64>,
    /// Listings with columns of an older version of the code.
    pub stale: HashSet<Id>,
}

impl EventCursor {
    /// Updates the set of stale listings from rows that were read.
    pub fn track_stale(&mut self, rows: &[FacetColumns]) {
        for row in rows {
            if row.derived < ROW_VERSION {
                self.stale.insert(row.id);
            } else if !self.stale.is_empty() {
                self.stale.remove(&row.id);
            }
        }
    }
}
