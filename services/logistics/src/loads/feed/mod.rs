//! The feed of the events of loads (docs/api/events.md): what an organisation or a driver has to follow, in one order.

mod model;
mod store;

pub(crate) use model::{FeedEventType, FeedPageBody, FeedReader, FeedSearch};
pub(crate) use store::{
    NewEvent, align as align_feed, find_new as find_new_events, has_events_of, new_events,
};
