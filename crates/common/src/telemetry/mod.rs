//! Logs, metrics and traces.

pub(crate) mod context;
mod json;
pub(crate) mod logs;
pub(crate) mod metrics;
pub(crate) mod security;
mod traceparent;
pub mod traces;
