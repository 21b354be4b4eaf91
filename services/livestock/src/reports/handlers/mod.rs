//! The operations on reports.

mod create;
mod list;
mod resolve;
mod search;

use utoipa_actix_web::service_config::ServiceConfig;

/// Registers the operations.
pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(create::report_listing)
        .service(list::list_reports_of_listing)
        .service(search::list_reports)
        .service(resolve::resolve_report);
}
