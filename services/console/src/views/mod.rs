//! HTML. Functions return markup and take what they show; every text is escaped by `maud`.

pub(crate) mod batches;
pub(crate) mod board;
pub(crate) mod choice;
pub(crate) mod connections;
pub(crate) mod driver;
pub(crate) mod enquiries;
pub(crate) mod forms;
pub(crate) mod import;
pub(crate) mod import_check;
mod layout;
pub(crate) mod library;
pub(crate) mod listing;
pub(crate) mod listing_form;
pub(crate) mod load;
pub(crate) mod loads;
pub(crate) mod login;
mod map;
pub(crate) mod market;
pub(crate) mod messages;
pub(crate) mod moderation;
pub(crate) mod new_load;
pub(crate) mod operations;
pub(crate) mod personal_data;
pub(crate) mod saving;
pub(crate) mod sheet;
pub(crate) mod today;
pub(crate) mod webhooks;

pub(crate) use layout::{ASSETS, Position, Section, driver_worker, page, phone, status, visitor};
pub(crate) use map::Tiles;
