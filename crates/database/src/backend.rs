//! Identifies the backend of PostgreSQL that executes a call.

/// How the watchdog finds the backend of a call in `pg_stat_activity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackendId {
    /// The process id. A session has one backend from its start to its end. SQLite has none, which is 0.
    Process(i32),
    /// The number of a call whose transactions go through a pooler. Each transaction may run in another backend, and
    /// the backend of an ended one executes the statements of other clients. So a transaction has its number in its
    /// `application_name`, which ends with it.
    Transaction(u64),
}

impl BackendId {
    /// Returns an unused number for the transactions of a call.
    pub(crate) fn for_transactions() -> Self {
        Self::Transaction(rand::random())
    }

    /// Returns the `application_name` of transactions with a number; `None` for a session.
    pub(crate) fn application_name(self, schema: &str) -> Option<String> {
        match self {
            Self::Process(_) => None,
            Self::Transaction(number) => Some(format!("{schema} {number:016x}")),
        }
    }

    /// Returns the condition on rows of `pg_stat_activity` that selects the backend.
    pub(crate) fn condition(self, schema: &str) -> String {
        match self {
            Self::Process(id) => format!("pid = {id}"),
            Self::Transaction(_) => {
                format!("application_name = '{}'", self.application_name(schema).unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_found_by_their_name() {
        let id = BackendId::Transaction(10);
        assert_eq!(id.application_name("things").as_deref(), Some("things 000000000000000a"));
        assert_eq!(id.condition("things"), "application_name = 'things 000000000000000a'");
        assert_eq!(BackendId::Process(7).condition("things"), "pid = 7");
        assert_ne!(BackendId::for_transactions(), BackendId::for_transactions());
    }
}
