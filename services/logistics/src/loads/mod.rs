//! Loads.

mod accept;
mod api;
mod batch;
mod columns;
mod create;
mod creators;
mod export;
mod form;
mod index;
mod model;
mod proof;
mod search;
mod store;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use batch::Batches;
pub(crate) use creators::{fill_creators_at_start, keep_creators};
pub(crate) use index::keep_index;
pub(crate) use model::{Load, Party, Status, parties};
pub(crate) use store::{add_driver, assign_carrier, find_own};

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(api::search_loads)
        .service(create::create_as_organiser)
        .service(create::create_as_carrier)
        .service(api::list_by_ids)
        .service(export::export_completed)
        .service(batch::create)
        .service(batch::template)
        .service(proof::prove_in_body)
        .service(proof::prove)
        .service(accept::accept)
        .service(api::find);
}
