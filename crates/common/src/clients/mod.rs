//! Clients of other services.

pub mod files;
pub mod places;
