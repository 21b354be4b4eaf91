//! Reports: complaints of users about listings. The owner of a listing does not see them. Moderators read them, and see
//! their number in the log and the metrics.

mod handlers;
mod metrics;
mod model;
mod store;

pub(crate) use handlers::routes;
pub(crate) use metrics::register_metrics;
pub(crate) use model::Report;
pub(crate) use store::create_demo_report;
