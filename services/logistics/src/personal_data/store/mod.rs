//! The queries on the records that have the id or the name of a user.

mod created;
mod drivers;
mod events;
mod loads;

pub(super) use created::{erase_created, list_created};
pub(super) use drivers::{
    erase_driver_events, erase_notifications, erase_reports, list_driver_events, list_drivers,
    list_notifications,
};
pub(super) use events::list_events;
pub(super) use loads::{erase_files, list_accepted, list_files};
