//! Listings: animals and supplies that are offered or wanted (`docs/api/listings.md`).

mod attributes;
mod background;
mod category_forms;
mod csv_columns;
mod currency;
mod demo;
mod document_point;
mod events;
mod facets;
mod form;
mod geo;
mod handlers;
mod location;
mod metrics;
mod model;
mod price;
mod properties;
mod search;
mod search_fields;
mod store;

pub(crate) use background::{rebuild_stale_rows, run_background, run_snapshots};
pub(crate) use demo::create_demo_data;
pub(crate) use facets::{FacetColumns, FacetService, OneListing, SearchFilters, current_position};
pub(crate) use geo::Cell;
pub(crate) use handlers::routes;
pub(crate) use metrics::register_metrics;
pub(crate) use model::{Listing, Status};
pub(crate) use search::{CommodityType, ListingSearch, ListingSearchParams, find_page, sort_by};
pub(crate) use search_fields::day;
pub(crate) use store::find;
