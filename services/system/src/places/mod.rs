//! Locations by three words, by address and by coordinates, and the address search (docs/api/places.md).

mod cache_key;
mod handlers;
mod lookup;
mod metrics;
mod model;
mod params;
mod providers;

pub(crate) use cache_key::KINDS as CACHE_KEY_KINDS;
pub(crate) use handlers::routes;
pub(crate) use lookup::Places;
pub(crate) use metrics::register_metrics;
