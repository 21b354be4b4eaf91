//! Scenarios of logistics: searches, exports and writes of loads.

pub mod each_search;
pub mod search;
pub mod write;
