//! Matches listings that are published or edited with saved searches, off the path of requests.
//!
//! One replica at a time, which has a lease, follows the events of listings ([`worker`]). It holds the filters of all
//! searches with `notify` in memory ([`loaded_searches`]), by a term that a listing must have ([`index`]). Matches, the
//! deliveries of their events and the position are stored in the same transactions.

mod index;
mod loaded_searches;
mod metrics;
mod model;
mod store;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use metrics::{register_metrics, report_lag};
pub(crate) use worker::{Matcher, release_lease};
