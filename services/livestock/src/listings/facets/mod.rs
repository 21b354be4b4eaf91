//! Facets: for each filter of a search, the values that it may take and the number of listings that each would leave
//! (`docs/api/listings.md`, "Facets").
//!
//! [`FacetService`] counts in memory, over a table of the columns that searches compare ([`index`]), and caches the
//! counts by combination of filters ([`cache`]). The table follows the events of listings. Every request reads the new
//! events first, so its counts include every change that was committed before the request, on any replica.

mod cache;
mod counts;
mod exact_filters;
mod index;
mod interner;
mod masks;
mod model;
mod number_set;
mod range_filters;
mod response;
mod row;
mod service;
mod spelling;
mod store;
mod table;

pub use response::Facets;
pub use service::FacetService;
