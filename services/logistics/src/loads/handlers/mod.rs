//! The operations on loads.

mod actions;
mod address_book;
mod batch;
mod batches;
mod collect;
mod correct;
mod create;
mod drivers;
mod feed;
mod prove;
mod read;
mod send;
mod status;
mod update;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes. The fixed paths come before `/loads/{id}`.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(read::search_loads)
        .service(create::create_as_organiser)
        .service(create::create_as_carrier)
        .service(read::list_by_ids)
        .service(read::summarize)
        .service(read::export_completed)
        .service(actions::act)
        .service(batch::create)
        .service(batch::template)
        .service(batches::list)
        .service(batches::cancel)
        .service(prove::prove_in_body)
        .service(prove::prove)
        .service(send::send_to_driver)
        .service(send::send_to_carrier)
        .service(read::list_notifications)
        .service(read::list_events)
        .service(feed::list)
        .service(feed::stream)
        .service(drivers::list)
        .service(drivers::revoke)
        .service(correct::correct)
        .service(correct::add_files)
        .service(status::cancel)
        .service(status::reopen)
        .service(collect::collect)
        .service(collect::reject)
        .service(status::add_note)
        .service(update::update)
        .service(status::accept)
        .service(read::find)
        .service(address_book::list_organisations)
        .service(address_book::list_drivers);
}
