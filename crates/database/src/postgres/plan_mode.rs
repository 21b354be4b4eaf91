//! How PostgreSQL plans prepared statements.

use crate::citus;

/// How PostgreSQL plans the prepared statements of a call. A session keeps its mode until a call needs another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanMode {
    /// For the values of each execution. One plan for all values treats one row and a million rows alike: such plans
    /// took 2 s instead of 2 ms.
    Custom,
    /// Once, for all values. Indexes have the rows of these statements in their order. So plans that sort or that read
    /// more than a page are excluded, whatever the statistics say when the statement is planned.
    Generic,
    /// As the session happens to: each statement has only one plan.
    Any,
}

impl PlanMode {
    /// Returns the mode of statements whose rows an index has in order: [`Generic`](Self::Generic). With Citus it is
    /// [`Custom`](Self::Custom), because Citus plans no page within a larger statement for all values at once.
    pub(crate) fn reusable() -> Self {
        if citus::is_distributed() { Self::Custom } else { Self::Generic }
    }

    /// Returns the statements that change the mode of a session.
    pub(crate) fn settings(self) -> &'static str {
        match self {
            Self::Custom => {
                "SET plan_cache_mode = force_custom_plan; RESET enable_sort; RESET enable_incremental_sort;
                 RESET enable_bitmapscan; RESET enable_seqscan"
            }
            Self::Generic => {
                "SET plan_cache_mode = force_generic_plan; SET enable_sort = off; SET enable_incremental_sort = off;
                 SET enable_bitmapscan = off; SET enable_seqscan = off"
            }
            Self::Any => "",
        }
    }

    /// Returns the settings of a transaction behind a pooler, besides those of [`Custom`](Self::Custom). There are no
    /// prepared statements, so PostgreSQL plans each execution for its values.
    pub(crate) fn local_settings(self) -> &'static [&'static str] {
        match self {
            Self::Generic => &[
                "enable_sort = off",
                "enable_incremental_sort = off",
                "enable_bitmapscan = off",
                "enable_seqscan = off",
            ],
            Self::Custom | Self::Any => &[],
        }
    }
}
