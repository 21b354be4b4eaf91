//! Clients of other services.

pub mod files;
pub mod image_links;
pub mod places;
