//! Categories of listings and the operation that lists them.

mod handlers;
mod model;

pub(crate) use handlers::routes;
pub(crate) use model::{BEDDING, CATTLE, Categories, FEED, SHEEP, WORKING_DOG};
