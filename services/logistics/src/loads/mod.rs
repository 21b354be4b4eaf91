//! Loads.

mod api;
mod batch;
mod columns;
mod create;
mod form;
mod model;
mod proof;
mod search;
mod store;

pub(crate) use batch::Batches;
use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(api::search)
        .service(create::create_as_organiser)
        .service(create::create_as_carrier)
        .service(api::list_by_ids)
        .service(batch::create)
        .service(batch::template)
        .service(proof::prove_in_body)
        .service(proof::prove)
        .service(api::find);
}
