//! A read-through cache of provider responses, in memory or in a Redis that the replicas share.
//!
//! A failing cache never fails a read: the caller queries the source instead, at the cost of that query only. Only
//! clearing reports an unreachable cache, because a clear that did nothing must not look like a success.

mod backend;
mod handlers;
mod memory;
mod metrics;
mod read_through;
mod redis;
mod secrets;
#[cfg(test)]
mod tests;

pub(crate) use handlers::routes;
pub(crate) use metrics::register_metrics;
pub use read_through::Cache;
pub(crate) use secrets::SecretReloader;
