//! What the rows of a batch do.

use common::system::DueShare;
use common::wire::FileReference;
use database::Id;

use super::existing::Existing;
use super::faults::Faults;
use super::update::RowChanges;

/// The number of rows that a response lists.
pub(super) const MAX_LISTED: usize = 1_000;

/// What a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// It creates a load.
    New,
    /// It edits a load, or equals it.
    Edit,
    /// Its load exists, so that it does nothing.
    Skip,
    /// It has an entry.
    LeftOut,
}

/// What the rows of a batch do.
pub(super) struct Checked {
    /// The rows in their order.
    pub(super) plans: Vec<Plan>,
    /// The loads that exist already.
    pub(super) existing: Vec<Option<Existing>>,
    /// Those of the rows that were invalid before, too.
    pub(super) faults: Faults,
    pub(super) updated: usize,
    pub(super) unchanged: usize,
    /// The first changes.
    pub(super) changes: Vec<RowChanges>,
    /// The first rows that are skipped and differ from their loads.
    pub(super) differing: Vec<usize>,
    /// The shares of files that are due after the transaction.
    pub(super) shares: Vec<DueShare>,
    /// The loads that get another carrier, with the files that the caller may share with it.
    pub(super) shared_files: Vec<(Id, Vec<FileReference>)>,
}

impl Checked {
    /// Returns for each row whether it creates a load.
    pub(super) fn is_new(&self) -> Vec<bool> {
        self.plans.iter().map(|plan| *plan == Plan::New).collect()
    }

    /// Returns true if a row creates or changes a load.
    pub(super) fn stores_something(&self) -> bool {
        self.updated > 0 || self.plans.contains(&Plan::New)
    }

    /// Returns the number of rows with this plan.
    pub(super) fn count(&self, plan: Plan) -> usize {
        self.plans.iter().filter(|other| **other == plan).count()
    }
}

/// Why rows are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To tell what would happen.
    Preview,
    /// To store the import: the edited loads are stored at once.
    Store,
}
