//! Listings.

mod api;
mod cattle;
mod create;
mod currency;
mod form;
mod location;
mod model;
mod particulars;
mod price;
mod search;
mod store;
mod terms;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(api::search).service(create::create_cattle).service(api::find);
}
