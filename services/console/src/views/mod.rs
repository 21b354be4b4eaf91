//! HTML. Functions return markup and take what they show; every text is escaped by `maud`.

pub(crate) mod batches;
pub(crate) mod board;
pub(crate) mod forms;
pub(crate) mod import;
pub(crate) mod import_check;
mod layout;
pub(crate) mod load;
pub(crate) mod loads;
pub(crate) mod login;
pub(crate) mod messages;
pub(crate) mod new_load;
pub(crate) mod sheet;
pub(crate) mod today;

pub(crate) use layout::{ASSETS, Position, Section, page, status};
