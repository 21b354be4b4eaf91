//! The oracle of the trials: compares what clients know of their writes with what the services have stored.

use std::collections::BTreeMap;

/// Violations that are printed. Further ones are only counted.
const MAX_PRINTED: usize = 20;

/// What a client knows of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteState {
    /// A response acknowledged it, with this id if it had one: it is stored exactly once.
    Acknowledged(String),
    /// A response refused it: it is not stored.
    Refused,
    /// There was no response, or a 503 with `outcome: unknown`: it is stored at most once.
    Unknown,
}

impl WriteState {
    /// The id of an acknowledged write.
    pub fn id(&self) -> Option<&str> {
        if let Self::Acknowledged(id) = self { Some(id) } else { None }
    }
}

/// Counts the violations found so far and prints the first of them.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Acknowledged, but not stored or stored under another id.
    pub lost: usize,
    /// Stored more than once, or although it was refused or never sent.
    pub duplicated: usize,
    /// Stored in part, or with other content than was sent.
    pub corrupted: usize,
}

impl Ledger {
    /// Checks how often a write is stored.
    pub fn check_count(&mut self, state: &WriteState, count: usize, write: &str) {
        match (state, count) {
            (WriteState::Acknowledged(_), 0) => self.lost(write),
            (WriteState::Refused, 1..) => self.duplicated(&format!("{write} is stored but was refused")),
            (_, 2..) => self.duplicated(&format!("{write} is stored {count} times")),
            _ => {}
        }
    }

    /// Checks how often each of these writes is stored, by marker, and that nothing else is stored.
    pub fn check_counts<'a>(
        &mut self,
        service: &str,
        writes: impl IntoIterator<Item = (&'a str, WriteState)>,
        mut stored: BTreeMap<String, usize>,
    ) {
        for (marker, state) in writes {
            let count = stored.remove(marker).unwrap_or_default();
            self.check_count(&state, count, &format!("{service}: {marker}"));
        }
        for marker in stored.keys() {
            self.duplicated(&format!("{service}: {marker} is stored but was never sent"));
        }
    }

    /// Checks the content of a stored object; `violation` describes it when it is wrong.
    pub fn check_content(&mut self, is_right: bool, violation: impl FnOnce() -> String) {
        if !is_right {
            self.corrupted(&violation());
        }
    }

    /// Records a lost write.
    pub fn lost(&mut self, violation: &str) {
        self.lost += 1;
        self.print("lost", violation);
    }

    /// Records a duplicated write, or one that must not be stored at all.
    pub fn duplicated(&mut self, violation: &str) {
        self.duplicated += 1;
        self.print("duplicated", violation);
    }

    /// Records a write with wrong content.
    pub fn corrupted(&mut self, violation: &str) {
        self.corrupted += 1;
        self.print("corrupted", violation);
    }

    /// Number of all violations.
    pub fn violations(&self) -> usize {
        self.lost + self.duplicated + self.corrupted
    }

    fn print(&self, kind: &str, violation: &str) {
        if self.violations() <= MAX_PRINTED {
            eprintln!("    {kind}: {violation}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_allows_its_counts() {
        let states = [WriteState::Acknowledged("id".into()), WriteState::Refused, WriteState::Unknown];
        for (state, violations) in states.iter().zip([[1, 0, 1], [0, 1, 1], [0, 0, 1]]) {
            for (count, expected) in violations.into_iter().enumerate() {
                let mut ledger = Ledger::default();
                ledger.check_count(state, count, "a write");
                assert_eq!(ledger.violations(), expected, "{state:?}, stored {count} times");
            }
        }
    }

    #[test]
    fn stored_markers_must_have_been_sent() {
        let mut ledger = Ledger::default();
        let stored = BTreeMap::from([("A".to_owned(), 1), ("B".to_owned(), 1)]);
        ledger.check_counts("logistics", [("A", WriteState::Unknown)], stored);
        ledger.check_content(true, String::new);
        assert_eq!([ledger.lost, ledger.duplicated, ledger.corrupted], [0, 1, 0]);
        ledger.check_content(false, || "half".into());
        assert_eq!(ledger.violations(), 2);
    }
}
