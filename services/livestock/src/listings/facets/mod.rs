//! Facets: for each filter of a search, the values that it may take and the number of listings that each would leave
//! (`docs/api/listings.md`, "Facets").
//!
//! [`FacetService`] turns the parameters of a search into [`filters`], brings the [`index`] of all listings up to date
//! with the events of listings, and returns the [cached](cache) or [counted](counts) response. Every request reads the
//! new events first, so its counts include every change that was committed before the request, on any replica. A start
//! reads all listings. Facets of a free-text query are counted with the [`words`] of all listings.

mod cache;
mod columns;
mod counts;
mod filters;
mod index;
mod model;
mod service;
mod store;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use counts::{Cluster, Facets};
pub(crate) use filters::{SearchFilters, SingleListingMatcher};
pub(crate) use model::FacetColumns;
pub(crate) use service::FacetService;
pub(crate) use store::MAX_LIST_VALUES;
