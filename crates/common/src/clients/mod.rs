//! Clients of other services.

pub mod files;
