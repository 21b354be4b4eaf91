//! Coordinates of postcodes (`docs/api/listings.md`, "Coordinates from postcodes"). A location with a postcode and
//! without coordinates gets those that system knows. While system is unavailable, listings are stored without them and
//! listed in `due_locations`; a background task completes them.

mod completion;
mod finder;
pub(crate) mod store;

pub(crate) use completion::LocationCompleter;
pub(crate) use finder::{Finding, find};
