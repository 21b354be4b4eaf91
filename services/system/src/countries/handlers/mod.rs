//! The routes of countries and regions. They need no token and exist under `/v1` and `/v1/public`.

mod list_countries;
mod list_regions;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes in one of the two groups.
pub(crate) fn routes(group: &mut ServiceConfig) {
    group.service(list_countries::list_countries);
    group.service(list_regions::list_regions);
}
