//! Operations on notifications.

mod list;
mod redeliver;
mod send;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(send::send_to_driver)
        .service(send::send_to_carrier)
        .service(redeliver::redeliver)
        .service(list::list);
}
