//! What clients record of their writes: the request before it is sent, and the state after the response.

mod file;
mod listing;
mod load;

pub use self::file::FileRecord;
pub use self::listing::ListingRecord;
pub use self::load::{BatchRecord, LoadRecord, ProofRecord, SendRecord};

use crate::ledger::WriteState;

/// All writes of a client, or of a round.
#[derive(Debug, Default)]
pub struct Records {
    pub loads: Vec<LoadRecord>,
    pub batches: Vec<BatchRecord>,
    pub files: Vec<FileRecord>,
    pub listings: Vec<ListingRecord>,
}

impl Records {
    /// Number of single creates of loads and listings.
    pub fn creates(&self) -> usize {
        self.loads.len() + self.listings.len()
    }

    /// Adds the writes of another client.
    pub fn extend(&mut self, other: Self) {
        self.loads.extend(other.loads);
        self.batches.extend(other.batches);
        self.files.extend(other.files);
        self.listings.extend(other.listings);
    }
}

/// A write that may have an idempotency key.
#[derive(Debug)]
pub struct Write {
    pub key: Option<String>,
    pub state: WriteState,
}

impl Write {
    /// Id of an acknowledged write.
    pub fn id(&self) -> Option<&str> {
        self.state.id()
    }
}
