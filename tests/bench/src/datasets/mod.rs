//! Data of the services, created through their API from the generated fixtures.

pub mod listings;
pub mod loads;
