//! The routes of places. They need no token and exist under `/v1` and `/v1/public`.

mod find_location;
mod search_addresses;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes in one of the two groups.
pub(crate) fn routes(group: &mut ServiceConfig) {
    group.service(find_location::by_words);
    group.service(find_location::by_address_id);
    group.service(find_location::by_coordinates);
    group.service(search_addresses::search_addresses);
}
