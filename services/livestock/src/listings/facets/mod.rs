//! Facets: for each filter of a search, the values that it may take and the number of listings that each would leave
//! (`docs/api/listings.md`, "Facets").
//!
//! [`FacetService`] counts in memory, over an [`index`] of the columns that searches compare, and caches the counts by
//! combination of filters ([`cache`]). It updates the index from the events of listings. Every request reads the new
//! events first, so its counts include every change that was committed before the request, on any replica. A start
//! loads the index from a [`snapshot`]. Facets of a free-text query are counted with the [`words`] of all listings.

mod cache;
mod caching_index;
mod compiled_filters;
mod counts;
mod exact_filters;
#[cfg(test)]
mod fixtures;
mod full_read;
mod index;
mod interner;
mod last_read;
mod model;
mod number_set;
mod one_listing;
mod range_filters;
mod record;
mod response;
mod row;
mod service;
mod snapshot;
mod spelling;
mod store;
mod words;

pub(crate) use model::FacetColumns;
pub(crate) use one_listing::{OneListing, SearchFilters};
pub(crate) use response::Facets;
pub(crate) use service::FacetService;
pub(crate) use snapshot::save_if_due as save_snapshot_if_due;
pub(crate) use store::{MAX_LIST_VALUES, current_position};
