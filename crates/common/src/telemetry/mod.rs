//! Logs, metrics and traces.

pub(crate) mod context;
pub(crate) mod failure_streak;
mod json;
pub(crate) mod logs;
pub(crate) mod metrics;
mod pretty;
mod process;
pub(crate) mod recorder;
mod traceparent;
pub mod traces;
