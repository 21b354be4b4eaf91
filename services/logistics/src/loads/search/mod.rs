//! The search for loads.

mod parameters;
mod sorts;
pub mod store;
mod words;

use common::{Caller, Format, PageRequest, Sorting};
use database::Timestamp;

pub use parameters::{LoadSearchParams, date_range};
use sorts::{COMPLETED_AT, LoadSortKey};

/// A search for loads: filters that a load must all pass, an order, and a page.
#[derive(Clone, Debug)]
pub struct LoadSearch {
    pub organiser_id: Option<String>,
    pub carrier_id: Option<String>,
    pub status: Option<String>,
    /// The first delivery date.
    pub start: Option<Timestamp>,
    /// The last delivery date.
    pub end: Option<Timestamp>,
    /// Completed loads only, from the first timestamp to the last.
    pub completed: Option<(Option<Timestamp>, Option<Timestamp>)>,
    /// In lower case.
    pub words: Vec<String>,
    pub sorting: Sorting<LoadSortKey>,
    pub page: PageRequest,
    /// True if the number of matches was requested.
    pub count: bool,
    pub format: Format,
}

impl LoadSearch {
    /// The loads that were completed in this range, oldest first.
    pub fn completed_in(range: (Option<Timestamp>, Option<Timestamp>), format: Format) -> Self {
        Self {
            organiser_id: None,
            carrier_id: None,
            status: None,
            start: None,
            end: None,
            completed: Some(range),
            words: Vec::new(),
            sorting: Sorting::new(&COMPLETED_AT, false),
            page: PageRequest { limit: i64::MAX, offset: 0, after: None },
            count: false,
            format,
        }
    }

    /// True if an index has the matches in their order, so that continuing after any row costs the same.
    pub fn has_index(&self, caller: &Caller) -> bool {
        self.words.is_empty() && (self.sorting.by.key.has_index)(self, caller)
    }

    /// True if the search is limited to some delivery dates.
    pub fn has_dates(&self) -> bool {
        self.start.is_some() || self.end.is_some()
    }

    /// True if the search is limited to an organiser or a carrier.
    pub fn has_party(&self) -> bool {
        self.organiser_id.is_some() || self.carrier_id.is_some()
    }
}
