//! The operations on loads: one module each.

mod accept;
mod batch;
mod cancel;
mod correct;
mod create;
mod drivers;
mod export;
mod find;
mod list_by_ids;
mod list_events;
mod list_notifications;
mod prove;
mod search;
mod send;
mod update;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the routes. The fixed paths come before `/loads/{id}`.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(search::search)
        .service(create::create_as_organiser)
        .service(create::create_as_carrier)
        .service(list_by_ids::list_by_ids)
        .service(export::export_completed)
        .service(batch::create)
        .service(batch::template)
        .service(prove::prove_in_body)
        .service(prove::prove)
        .service(send::send_to_driver)
        .service(send::send_to_carrier)
        .service(list_notifications::list)
        .service(list_events::list)
        .service(drivers::list)
        .service(drivers::revoke)
        .service(correct::correct)
        .service(cancel::cancel)
        .service(update::update)
        .service(accept::accept)
        .service(find::find);
}
