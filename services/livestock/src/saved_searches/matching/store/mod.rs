//! The queries of the matching.

mod events;
mod match_events;
mod record;
mod searches;

pub(super) use events::{lag, list_active, next_events, wishing_users};
pub(super) use match_events::prune_match_events;
pub(super) use record::{forget_matches, record, release_lease, request_lease};
pub(super) use searches::{changes_position, changes_since, list_after, list_by_ids, prune_changes};
