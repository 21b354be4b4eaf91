//! What the checks found: violations, and how many writes of each kind had which outcome.

use std::collections::BTreeMap;

use crate::ledger::{Ledger, WriteState};

/// A kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteKind {
    Load,
    Listing,
    Batch,
    Upload,
    Proof,
    Other,
}

impl WriteKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Load, Self::Listing, Self::Batch, Self::Upload, Self::Proof, Self::Other];

    /// Name in the table of results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "single creates of loads",
            Self::Listing => "creates of listings",
            Self::Batch => "batches",
            Self::Upload => "uploads",
            Self::Proof => "proofs",
            Self::Other => "other writes",
        }
    }
}

/// Number of writes of a kind by their first outcome.
#[derive(Debug, Default, Clone, Copy)]
pub struct WriteCounts {
    pub acknowledged: usize,
    /// The outcome was unknown.
    pub unknown: usize,
    /// The outcome was unknown, and the write was stored.
    pub unknown_stored: usize,
}

/// The results of all checks.
#[derive(Debug, Default)]
pub struct Findings {
    pub ledger: Ledger,
    writes: BTreeMap<WriteKind, WriteCounts>,
}

impl Findings {
    /// Counts a write, which is stored or not.
    pub fn count(&mut self, kind: WriteKind, state: &WriteState, is_stored: bool) {
        let counts = self.writes.entry(kind).or_default();
        match state {
            WriteState::Acknowledged(_) => counts.acknowledged += 1,
            WriteState::Refused => {}
            WriteState::Unknown => {
                counts.unknown += 1;
                counts.unknown_stored += usize::from(is_stored);
            }
        }
    }

    /// The writes of a kind.
    pub fn writes(&self, kind: WriteKind) -> WriteCounts {
        self.writes.get(&kind).copied().unwrap_or_default()
    }
}
