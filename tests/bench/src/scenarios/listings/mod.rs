//! Scenarios of livestock: searches and facets of listings.

mod animal;
pub mod each_search;
pub mod facets;
pub mod search;
mod sql;
pub mod text;
