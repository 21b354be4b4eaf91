//! The search for loads.

mod parameters;
mod sorts;
pub(crate) mod store;
pub(crate) mod summary;

use super::status::Status;
use common::validation::{Code, ValidationErrors};
use common::wire::DateOrDateTime;
use common::{Caller, Format, PageRequest, Sorting};
use database::{Id, Timestamp};
use sorts::{COMPLETED_AT, CREATED_AT, LoadSortKey};

use super::store::Role;

pub(crate) use parameters::{Include, LoadFilters, LoadSearchParams};
pub(crate) use store::find_page;

/// A search for loads: filters that a load must all pass, an order, and a page. `None` and empty lists are no filters.
#[derive(Clone, Debug)]
pub(crate) struct LoadSearch {
    /// The id of the organiser.
    pub(crate) organiser_id: Option<String>,
    /// The id of the carrier.
    pub(crate) carrier_id: Option<String>,
    /// The statuses. Without one, cancelled loads do not match.
    pub(crate) statuses: Vec<Status>,
    /// A tag.
    pub(crate) tag: Option<String>,
    /// The organisation that created the load, or `own`.
    pub(crate) created_by: Option<String>,
    /// The ids.
    pub(crate) ids: Vec<Id>,
    /// The batch that created the load.
    pub(crate) batch_id: Option<Id>,
    /// A file that the load has.
    pub(crate) file_id: Option<Id>,
    /// The start of the day: loads that were due before and have not ended.
    pub(crate) overdue_at: Option<Timestamp>,
    /// True for loads that the caller's organisation has not accepted yet.
    pub(crate) awaits_acceptance: bool,
    /// Completed loads only: by how many per cent at least the net weight differs from the collected or else the agreed
    /// weight, this number excluded.
    pub(crate) weight_differs_by_percent: Option<i64>,
    /// The ids of commodities. A load matches if its commodity is one of them.
    pub(crate) commodity_ids: Vec<i32>,
    /// The driver to whom the load was sent.
    pub(crate) driver: Option<DriverFilter>,
    /// The delivery date.
    pub(crate) delivery: TimeRange,
    /// Completed loads only: the time of their completion. Loads that the caller organises match only once it has
    /// accepted them.
    pub(crate) completed: Option<TimeRange>,
    /// Words that a load must all contain, in lower case.
    pub(crate) words: Vec<String>,
    /// The only roles in which the caller has matches, if that is known.
    pub(super) roles: Option<&'static [Role]>,
    /// The order of the matches.
    pub(crate) sorting: Sorting<LoadSortKey>,
    /// The page to return.
    pub(crate) page: PageRequest,
    /// True if the number of matches was requested.
    pub(crate) count: bool,
    /// What each load has besides.
    pub(crate) include: Vec<Include>,
    /// The columns of an export. Empty for all.
    pub(crate) columns: Vec<String>,
    /// The format of the response.
    pub(crate) format: Format,
}

/// The driver to whom a load was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DriverFilter {
    /// The caller. Matches loads of all organisations.
    Caller,
    /// The user with this id. Matches loads that the caller sees anyway.
    User(String),
}

impl LoadSearch {
    /// Returns the search for all loads that were completed in this range, oldest first.
    pub(crate) fn completed_in(range: TimeRange, format: Format) -> Self {
        Self { completed: Some(range), ..Self::all(Sorting::new(&COMPLETED_AT, false), format) }
    }

    /// Returns the search for all loads that are not cancelled.
    fn all(sorting: Sorting<LoadSortKey>, format: Format) -> Self {
        Self {
            organiser_id: None,
            carrier_id: None,
            statuses: Vec::new(),
            tag: None,
            created_by: None,
            ids: Vec::new(),
            batch_id: None,
            file_id: None,
            overdue_at: None,
            awaits_acceptance: false,
            weight_differs_by_percent: None,
            commodity_ids: Vec::new(),
            driver: None,
            delivery: TimeRange::default(),
            completed: None,
            words: Vec::new(),
            roles: None,
            sorting,
            page: PageRequest { limit: format.max_rows(), offset: 0, after: None },
            count: false,
            include: Vec::new(),
            columns: Vec::new(),
            format,
        }
    }

    /// Returns true if an index has the matches in their order, so that continuing after any row costs the same.
    pub(crate) fn has_index(&self, caller: &Caller) -> bool {
        let has_unindexed_filter = self.has_document_filter() || !self.words.is_empty();
        !has_unindexed_filter && (self.sorting.by.key.has_index)(self, caller)
    }

    /// Returns true for a filter by what only the documents of loads have, or by what no index has with an order.
    fn has_document_filter(&self) -> bool {
        !self.commodity_ids.is_empty()
            || self.tag.is_some()
            || self.created_by.is_some()
            || self.has_own_index()
            || self.overdue_at.is_some()
            || self.awaits_acceptance
            || self.weight_differs_by_percent.is_some()
    }

    /// Returns true for a filter with an index of its own: by driver, by batch, by file or by id.
    pub(crate) fn has_own_index(&self) -> bool {
        self.driver.is_some() || self.batch_id.is_some() || self.file_id.is_some() || !self.ids.is_empty()
    }

    /// Returns true if statements of the search are prepared once: their text differs with the words and the ids.
    pub(crate) fn has_cached_statements(&self) -> bool {
        self.words.is_empty() && self.ids.is_empty()
    }

    /// Returns true if SQLite reads the matches in their order from an index, as [`has_index`](Self::has_index), but
    /// possibly skips many loads of another status or commodity.
    pub(crate) fn has_ordered_index(&self, caller: &Caller) -> bool {
        let key = &self.sorting.by.key;
        let is_by_creation = key.column == CREATED_AT && !self.delivery.is_limited();
        self.words.is_empty() && !self.has_own_index() && (is_by_creation || (key.has_index)(self, caller))
    }

    /// Returns true for a search in the order of creation for a range of delivery dates, which two kinds of indexes
    /// have: in order, and by date. Neither has commodities, so that a filter by them makes no difference.
    pub(crate) fn is_by_creation_and_date(&self, caller: &Caller) -> bool {
        let has_other_filters = !self.words.is_empty() || !self.statuses.is_empty() || self.has_own_index();
        let is_limited = self.delivery.is_limited() && (!caller.admin || self.has_party());
        self.sorting.by.key.column == CREATED_AT && is_limited && !has_other_filters
    }

    /// Returns true if the statement of a page needs no plan for its values: `loads_pair` or `loads_pair_delivery` has
    /// the loads of an organiser and a carrier in the order of the search.
    fn has_reusable_plan(&self) -> bool {
        self.organiser_id.is_some()
            && self.carrier_id.is_some()
            && self.statuses.is_empty()
            && !self.has_document_filter()
            && self.completed.is_none()
            && self.words.is_empty()
            && !self.count
            && match self.sorting.by.key.column.0 {
                "delivery_at" => true,
                "created_at" => !self.delivery.is_limited(),
                _ => false,
            }
    }

    /// Returns true if the search is limited to an organiser or a carrier.
    pub(crate) fn has_party(&self) -> bool {
        self.organiser_id.is_some() || self.carrier_id.is_some()
    }
}

/// The times from a first to a last instant, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeRange {
    /// The first instant, if the range has one.
    pub(crate) start: Option<Timestamp>,
    /// The last instant, if the range has one.
    pub(crate) end: Option<Timestamp>,
}

impl TimeRange {
    /// Returns the range of the parameters `startDateISO` and `endDateISO`. An end without a time of day includes its
    /// whole day. Adds an error if the start is after the end.
    pub(crate) fn new(
        start: Option<&DateOrDateTime>,
        end: Option<&DateOrDateTime>,
        errors: &mut ValidationErrors,
    ) -> Self {
        let (start, end) = (start.and_then(DateOrDateTime::start), end.and_then(DateOrDateTime::end));
        if start.zip(end).is_some_and(|(start, end)| start > end) {
            errors.push("startDateISO", Code::Inconsistent, "must not be after endDateISO");
        }
        Self { start, end }
    }

    /// Returns true if the range has a first or a last instant.
    pub(crate) fn is_limited(self) -> bool {
        self.start.or(self.end).is_some()
    }
}
