//! Listings: animals and supplies that are offered or wanted (`docs/api/listings.md`).

mod attributes;
mod background;
mod category_forms;
mod csv_columns;
mod demo;
mod document_point;
mod edit;
mod events;
mod facets;
mod form;
mod geo;
mod handlers;
mod location;
mod members;
mod metrics;
mod model;
mod postcodes;
mod price;
mod properties;
mod public;
mod search;
mod search_fields;
mod search_text;
mod store;
mod word_search;

pub(crate) use background::{rebuild_stale_rows, run_background};
pub(crate) use demo::create_demo_data;
pub(crate) use edit::{Editor, FormValidators};
pub(crate) use events::{ListingEvent, store::list_of_user as list_events_of_user};
pub(crate) use facets::{
    FacetColumns, FacetService, MAX_LIST_VALUES, OneListing, SearchFilters, current_position,
};
pub(crate) use geo::Cell;
pub(crate) use handlers::routes;
pub(crate) use metrics::{changed as status_changed, register_metrics};
pub(crate) use model::{Listing, Status};
pub(crate) use postcodes::LocationCompleter;
pub(crate) use search::{CommodityType, ListingSearch, ListingSearchParams, find_page, sort_by};
pub(crate) use search_fields::day;
pub(crate) use search_text::search_text;
pub(crate) use store::{find, remove_by_moderation};
pub(crate) use word_search::prepare_words;
