//! Files of the system service: looks up the files that a load or a listing names, and shares them after it is stored
//! (docs/api/files.md, "File references").
//!
//! A request looks its files up without sharing them ([`FileClient::look_up`]), stores its effect and a [`DueShare`] in
//! one transaction ([`record`]), and shares after the commit ([`Shares::share`]). A refused request shares nothing. A
//! failed share is retried, after restarts and by any replica, until it succeeds, the system service refuses it, or the
//! token of the caller expires.

mod body;
mod breaker;
mod breaker_metrics;
mod client;
mod found;
mod get;
mod model;
mod resolver;
mod shares;
mod store;
#[cfg(test)]
mod tests;

pub use client::FileClient;
pub use found::FoundFiles;
pub use get::PublicCall;
pub use model::DueShare;
pub use shares::Shares;
pub use store::{files_of, record, record_uploaders, subjects_of};
