//! The header of a snapshot, and when a new one is due.

use std::time::Duration;

use database::{Id, Timestamp};
use diesel::prelude::*;
use strum::VariantNames;

use crate::listings::attributes::{AdditionalInfo, Sex};
use crate::listings::facets::interner::TypeSets;
use crate::listings::search::StatusFilter;
use crate::listings::store::ROW_VERSION;

/// The version of the records. Increment it with each change of `IndexRecord`, `FacetRow` or `Measures`, and of the
/// code that sets their fields.
const FORMAT: u32 = 3;
/// Changes since the last snapshot below which none is due. Reading so many listings takes some milliseconds.
const MIN_CHANGES: i64 = 1_000;
/// A new snapshot is due when the changes exceed the listings divided by this.
const CHANGED_PART: i64 = 20;
/// Age from which a snapshot is replaced also without changes, in case that listings were changed by hand.
const MAX_AGE: Duration = Duration::from_secs(24 * 3_600);
/// Age from which a snapshot of another layout is replaced. Replicas of two releases must not replace each other's
/// snapshots all the time.
const MIN_AGE_OF_OTHER_LAYOUT: Duration = Duration::from_secs(600);

/// The header of a complete snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = crate::schema::facet_snapshots)]
pub(crate) struct SnapshotHeader {
    pub(crate) id: Id,
    /// See [`layout`].
    pub(crate) layout: String,
    /// The snapshot has all events before this position. See `store::current_position`.
    pub(crate) position: i64,
    /// The number of the last event when the header was written.
    pub(crate) last_event: i64,
    /// The number of listings.
    pub(crate) listings: i64,
    /// The number of chunks, which have the numbers from 1.
    pub(crate) chunks: i32,
    /// CRC-32 of all chunks.
    pub(crate) checksum: i64,
    pub(crate) written_at: Timestamp,
}

/// What determines whether a snapshot is due or can be loaded.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotState {
    /// The header of the snapshot, if there is one.
    pub(crate) header: Option<SnapshotHeader>,
    /// The layout of a snapshot that is written now.
    pub(crate) layout: String,
    /// The number of the last event.
    pub(crate) last_event: i64,
}

impl SnapshotState {
    /// Returns whether a new snapshot is due.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let Some(header) = &self.header else { return self.last_event > MIN_CHANGES };
        let age = header.written_at.until(now);
        self.last_event.saturating_sub(header.last_event) > MIN_CHANGES.max(header.listings / CHANGED_PART)
            || age > MAX_AGE
            || (header.layout != self.layout && age > MIN_AGE_OF_OTHER_LAYOUT)
    }
}

/// Returns a text that differs if this program cannot read a snapshot, or if a migration may have changed listings
/// after it. `schema` is the version of the last migration in the database.
pub(crate) fn layout(schema: &str) -> String {
    let flags = [StatusFilter::VARIANTS, Sex::VARIANTS, AdditionalInfo::VARIANTS].concat().join(" ");
    format!(
        "format {FORMAT}, rows {ROW_VERSION}, schema {schema}, hash {:x}, {flags}",
        TypeSets::hash_version()
    )
}
