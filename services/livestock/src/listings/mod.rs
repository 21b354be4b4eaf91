//! Listings: animals and supplies that are offered or wanted (`docs/api/listings.md`).

mod attributes;
mod background;
mod calendar;
mod category_forms;
mod csv_columns;
mod demo;
mod edit;
mod events;
mod facets;
mod feed;
mod form;
mod geo;
mod handlers;
mod location;
mod map;
mod members;
mod model;
mod postcodes;
mod price;
mod properties;
mod public;
mod search;
mod search_fields;
mod search_text;
mod store;

use metrics::{Counter, counter, describe_counter};

pub(crate) use background::run_background;
pub(crate) use calendar::day;
pub(crate) use demo::{create_demo_data, sample_events};
pub(crate) use edit::{Editor, FormValidators};
pub(crate) use events::ListingEvent;
pub(crate) use events::store::{
    current_position, list_of_user as list_events_of_user, take_numbers as take_event_numbers,
};
pub(crate) use facets::{FacetColumns, FacetService, MAX_LIST_VALUES, SearchFilters, SingleListingMatcher};
pub(crate) use feed::{align_feed, find_new_events};
pub(crate) use geo::{Cell, Point};
pub(crate) use handlers::routes;
pub(crate) use model::{Enquiry, EnquiryStatus, Listing, Status};
pub(crate) use postcodes::LocationCompleter;
pub(crate) use search::store::find_page;
pub(crate) use search::{
    CommodityType, ListingSearch, ListingSearchParams, UNKNOWN_NEAR, find_point, sort_by,
};
pub(crate) use store::{find, is_of_suspended, rebuild_stale_rows, remove_by_moderation};

const CHANGES: &str = "drover_listings_changed_total";

/// Returns the counter of listings that changed to a status.
pub(crate) fn status_changed(to: Status) -> Counter {
    counter!(CHANGES, "to" => to.as_str())
}

/// Describes the counter and registers each of its label values with 0.
pub(crate) fn register_metrics() {
    describe_counter!(CHANGES, "Listings published or closed, by their new status");
    for to in [Status::Active, Status::Sold, Status::Found, Status::Cancelled] {
        status_changed(to).increment(0);
    }
}
