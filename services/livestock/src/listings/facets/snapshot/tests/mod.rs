//! Tests of snapshots.

mod databases;
mod format;

use super::model::{SnapshotHeader, SnapshotState};
use database::{Id, Timestamp};
use std::time::Duration;

/// Returns the header of a snapshot of this number of listings.
fn header(listings: i64) -> SnapshotHeader {
    let written_at = Timestamp::now();
    let layout = "present".to_owned();
    let id = Id::new();
    SnapshotHeader { id, layout, position: 1, last_event: 500, listings, chunks: 1, checksum: 0, written_at }
}

#[test]
fn a_snapshot_is_due_after_many_changes_or_a_day() {
    let now = Timestamp::now();
    for (listings, changes, hours, layout, is_due) in [
        (100, 1_000, 0, "present", false),
        (100, 1_001, 0, "present", true),
        (100_000, 5_000, 0, "present", false),
        (100_000, 5_001, 0, "present", true),
        (100_000, 0, 23, "present", false),
        (100_000, 0, 25, "present", true),
        (100_000, 0, 0, "other", false),
        (100_000, 0, 1, "other", true),
    ] {
        let state = SnapshotState {
            header: Some(SnapshotHeader { layout: layout.to_owned(), ..header(listings) }),
            layout: "present".to_owned(),
            last_event: 500 + changes,
        };
        let now = now.after(Duration::from_secs(hours * 3_600));
        assert_eq!(state.is_due(now), is_due, "{listings} {changes} {hours} {layout}");
    }
    let without = |last_event| SnapshotState { header: None, layout: String::new(), last_event };
    assert!(!without(1_000).is_due(now) && without(1_001).is_due(now));
}
