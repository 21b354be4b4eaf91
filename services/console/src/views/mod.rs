//! HTML. Functions return markup and take what they show; every text is escaped by `maud`.

pub(crate) mod driver;
pub(crate) mod forms;
mod layout;
pub(crate) mod load;
pub(crate) mod loads;
pub(crate) mod login;
pub(crate) mod messages;
pub(crate) mod today;

pub(crate) use layout::{ASSETS, Position, Section, driver_worker, page, phone, status};
