//! Saved searches, and the listings that match them (docs/api/saved-searches.md).

mod demo;
mod form;
mod handlers;
mod matching;
mod model;
mod parameters;
mod store;

pub(crate) use demo::create_demo_data;
pub(crate) use handlers::routes;
pub(crate) use matching::{Matcher, register_metrics, release_lease, report_lag};
pub(crate) use parameters::ParameterRules;
pub(crate) use store::{erase_user, list_of_user};
