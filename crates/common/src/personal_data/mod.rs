//! Personal data: the export and the erasure of everything that a service holds about a user
//! (docs/api/personal-data.md).
//!
//! A service lists its [`RecordKind`]s in [`Service::record_kinds`](crate::Service::record_kinds), one for each table
//! and column with the id of a user. The kinds of the tables that every service has are added here.

pub(crate) mod handlers;
mod model;
mod records;
mod store;

pub(crate) use model::RecordKinds;
pub use model::{
    DOCUMENT_BATCH_SIZE, ERASED_NAME, Erasure, Record, RecordKind, RecordQuery, erase_in,
    erase_uploader_names,
};
use store::COMMON_KINDS;
pub use store::{IdentityColumns, erase_file_references, list_file_references};

impl RecordKinds {
    /// Adds the kinds of the tables that every service has.
    pub(crate) fn new(service: &'static str, mut kinds: Vec<RecordKind>) -> Self {
        kinds.extend(COMMON_KINDS);
        Self { service, kinds }
    }
}
