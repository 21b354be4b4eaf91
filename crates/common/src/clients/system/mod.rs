//! The client of the system service: its files, its places, and links to its public images.
//!
//! A load or a listing names files (docs/api/files.md, "File references").
//! A request looks its files up without sharing them ([`SystemClient::look_up`]), stores its effect and a [`DueShare`]
//! in one transaction ([`record_share`]), and shares after the commit ([`Shares::share`]). A refused request shares
//! nothing. A failed share is retried, after restarts and by any replica, until it succeeds, the system service
//! refuses it, or the token of the caller expires.

mod breaker;
mod client;
mod image_links;
mod model;
mod places;
mod public;
mod resolve;
mod shares;
mod store;
#[cfg(test)]
mod tests;

pub use client::{FoundFiles, SystemClient};
pub use image_links::{ImageLinkClient, ImageLinks};
pub use model::DueShare;
pub use places::{PlaceClient, PostcodePoint, PostcodeQuery, district_of};
pub use public::PublicCall;
pub use shares::Shares;
pub use store::{files_of, record_share, record_uploaders, subjects_of};
