//! The queries on the records that have the id or the name of a user.

mod drivers;
mod events;
mod loads;

pub(super) use drivers::{
    erase_driver_events, erase_notifications, list_driver_events, list_drivers, list_notifications,
};
pub(super) use events::list_events;
pub(super) use loads::{erase_files, list_accepted, list_created, list_files};
