//! The filters of searches, applied to one listing without the index.

use database::Timestamp;

use super::compiled_filters::{CompiledFilters, Filters};
use super::exact_filters::{ACTIVE, ExactFilters, Viewer};
use super::interner::Interners;
use super::model::FacetColumns;
use super::range_filters::{Measures, RangeFilters};
use super::row::FacetRow;
use crate::listings::search::ListingSearch;
use crate::listings::search_text::has_all_words;

/// The filters of a search for active listings, except the wishlist. Such listings are the same for all callers.
#[derive(Debug)]
pub(crate) struct SearchFilters {
    exact: ExactFilters,
    ranges: Option<Box<RangeFilters>>,
    words: Box<[String]>,
}

impl SearchFilters {
    /// Returns the filters of a search, or `None` if it finds no active listing.
    pub(crate) fn of(search: &ListingSearch) -> Option<Self> {
        // Names all fields, so that a new filter must be added here.
        let ListingSearch {
            status: _,
            commodity_type: _,
            breeds: _,
            breed_societies: _,
            sex: _,
            additional_info: _,
            organisation_id: _,
            min_age: _,
            max_age: _,
            near: _,
            // Visitors save no searches.
            audience: _,
            words,
            // How the database finds the words.
            fulltext: _,
            candidates: _,
            now: _,
            wishlisted: _,
            sorting: _,
            page: _,
            count: _,
            format: _,
            documents: _,
        } = search;
        let exact = ExactFilters::of(Viewer { organisation_id: "", admin: false }, search);
        let finds_active = exact.statuses & ACTIVE != 0;
        finds_active.then(|| Self {
            exact,
            ranges: RangeFilters::of(search).map(Box::new),
            words: words.as_slice().into(),
        })
    }

    /// Changes the time that dogs' ages are computed for.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        if let Some(ranges) = &mut self.ranges {
            ranges.set_now(now);
        }
    }
}

/// An active listing, in the form that filters compare.
#[derive(Debug)]
pub(crate) struct OneListing {
    /// The texts of this listing only.
    texts: Interners,
    row: FacetRow,
    measures: Measures,
    /// What words are compared with.
    search_text: String,
}

impl OneListing {
    /// Converts the columns of a listing.
    pub(crate) fn of(columns: &FacetColumns) -> Self {
        let mut texts = Interners::default();
        let row = FacetRow::of(columns, &mut texts);
        let search_text = columns.search_text.clone().unwrap_or_default();
        Self { texts, row, measures: Measures::of(columns), search_text }
    }

    /// Returns true if the listing passes all filters.
    pub(crate) fn passes(&self, filters: &SearchFilters) -> bool {
        let is_in_range = filters.ranges.as_ref().is_none_or(|ranges| ranges.passes(&self.measures));
        is_in_range
            && has_all_words(&self.search_text, &filters.words)
            && CompiledFilters::of_listings(&filters.exact, &self.texts, &[&self.row]).rejected_by(&self.row)
                == 0
    }
}
