//! Snapshots of the index in the database, so that a start need not read all listings.
//!
//! A snapshot is written from all listings, not from the index in memory: an error in the index does not outlive the
//! process. `listing_events` has every change of a listing, so a snapshot and the listings of the later events are the
//! same as all listings. The snapshot is in the database of the events, and therefore in each of its backups.
//!
//! A snapshot consists of chunks, which are written in transactions of their own, and of a header, which is written
//! last. A snapshot that cannot be used only costs the time to read all listings.

mod chunks;
mod load;
mod model;
mod save;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use load::load;
pub(crate) use save::save_if_due;
