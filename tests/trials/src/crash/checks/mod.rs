//! The checks after each round: compare everything that is stored with everything that was sent, and settle what is
//! unknown.

pub mod files;
pub mod listings;
pub mod loads;
pub mod notifications;
pub mod shares;
