//! Clients of other services.

pub mod system;
