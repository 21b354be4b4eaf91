//! Files of the system service: looking up the files that a load or a listing names, and sharing them once it is stored.
//!
//! A request looks its files up without sharing them ([`FileClient::look_up`]), stores its effect and a [`DueShare`] in
//! one transaction ([`record`]), and shares after the commit ([`Shares::share`]). A refused request shares nothing. A share
//! that fails is retried until it succeeds, system refuses it, or the caller's token expires, over restarts and by any
//! replica.

mod body;
mod breaker;
mod client;
mod found;
mod shares;
mod store;
#[cfg(test)]
mod tests;

pub use client::FileClient;
pub use found::FoundFiles;
pub use shares::{DueShare, Shares};
pub use store::record;
