//! What the store reads for the index and for requests.

use std::collections::HashSet;

use database::Id;
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use crate::listings::model::Listing;
use crate::listings::search_text::search_text;
use crate::listings::store::ROW_VERSION;

/// The columns of a listing that the index uses. `schema.rs` has the units.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::listings)]
pub(crate) struct FacetColumns {
    pub(crate) id: Id,
    pub(crate) organisation_id: String,
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) category: i32,
    pub(crate) min_age: Option<i64>,
    pub(crate) max_age: Option<i64>,
    pub(crate) born: Option<i64>,
    pub(crate) breed: Option<String>,
    pub(crate) breed_type: Option<String>,
    pub(crate) breed_society: Option<String>,
    pub(crate) types: String,
    pub(crate) sexes: String,
    pub(crate) additional_info: String,
    pub(crate) derived: i32,
    pub(crate) x: Option<f64>,
    pub(crate) y: Option<f64>,
    pub(crate) z: Option<f64>,
    pub(crate) lon: Option<f64>,
    pub(crate) cancelled_as_draft: bool,
    pub(crate) search_text: Option<String>,
    /// Ten-thousandths of the currency's unit, as is the next column.
    pub(crate) price: Option<i64>,
    #[diesel(select_expression = sql("listings.max_price"), select_expression_type = SqlLiteral<Nullable<BigInt>>)]
    pub(crate) max_price: Option<i64>,
    #[diesel(select_expression = sql("listings.currency"), select_expression_type = SqlLiteral<Nullable<Text>>)]
    pub(crate) currency: Option<String>,
}

impl FacetColumns {
    /// Returns whether an older version of the code wrote the row.
    pub(crate) fn is_stale(&self) -> bool {
        self.derived < ROW_VERSION
    }

    /// Replaces the texts that an older version of the code derived from the document of the listing.
    pub(crate) fn refresh_texts(&mut self, listing: &Listing) {
        let fields = listing.search_fields();
        (self.breed, self.breed_type) = (fields.breed, fields.breed_type);
        self.breed_society = fields.breed_society;
        self.search_text = Some(search_text(listing));
    }
}

/// What a request reads from the database before it counts.
#[derive(Debug, Default)]
pub(crate) struct StoredMatches {
    /// The listings of the caller's wishlist, if the search is limited to it.
    pub(crate) wishlist: Option<Vec<Id>>,
    /// Of the listings whose texts the database compares, those that have all words of the search.
    pub(crate) long_texts: HashSet<Id>,
}

/// Listings with the present values of their columns, and the spellings of their terms.
#[derive(Debug, Default)]
pub(crate) struct ListingChanges {
    /// The listings.
    pub(crate) rows: Vec<FacetColumns>,
    /// The spellings of the terms in the rows.
    pub(crate) spellings: Vec<Spelling>,
}

/// The spelling of a breed or society.
#[derive(Clone, Debug)]
pub(crate) struct Spelling {
    /// The organisation that uses it in a listing that was never published and that only it sees; absent if everyone
    /// sees the spelling.
    pub(crate) organisation_id: Option<String>,
    /// The breed or society as it is compared.
    pub(crate) term: String,
    /// As the listing spells it.
    pub(crate) text: String,
}

impl Spelling {
    /// Converts a row of `spellings`.
    pub(crate) fn public((term, text): (String, String)) -> Self {
        Self { organisation_id: None, term, text }
    }
}

/// The position up to which the events of listings were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventCursor {
    /// All events before this position were read; 0 before the first read.
    pub(crate) position: i64,
    /// The numbers of later events that were read too.
    pub(crate) seen: HashSet<i64>,
    /// Listings with columns of an older version of the code.
    pub(crate) stale: HashSet<Id>,
}

impl EventCursor {
    /// Updates the set of stale listings from rows that were read.
    pub(crate) fn track_stale(&mut self, rows: &[FacetColumns]) {
        for row in rows {
            if row.is_stale() {
                self.stale.insert(row.id);
            } else if !self.stale.is_empty() {
                self.stale.remove(&row.id);
            }
        }
    }
}
