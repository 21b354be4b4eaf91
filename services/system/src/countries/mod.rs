//! Countries and their regions, from the tables embedded in the program (docs/api/places.md, "Countries and regions").

mod enabled;
mod handlers;
mod model;
mod store;

pub(crate) use enabled::{check, read_enabled};
pub(crate) use handlers::routes;
pub(crate) use model::parse_country_code;
pub(crate) use store::Countries;
