//! The outcomes of an attacker's requests.

use std::collections::BTreeMap;
use std::fmt;

/// Outcomes and their counts. An outcome is a status, `closed`, `silent`, or a text of the attack.
#[derive(Debug, Default)]
pub struct Outcomes(BTreeMap<String, usize>);

impl Outcomes {
    /// Counts an outcome.
    pub fn add(&mut self, outcome: impl Into<String>) {
        self.add_times(outcome, 1);
    }

    /// Counts an outcome several times.
    pub fn add_times(&mut self, outcome: impl Into<String>, times: usize) {
        if times > 0 {
            *self.0.entry(outcome.into()).or_default() += times;
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: Self) {
        for (outcome, count) in other.0 {
            self.add_times(outcome, count);
        }
    }

    /// Whether all outcomes are among these.
    pub fn are_only(&self, accepted: &[&str]) -> bool {
        self.0.keys().all(|outcome| accepted.contains(&outcome.as_str()))
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (outcome, count)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{outcome}")?;
            if *count > 1 {
                write!(f, " ×{count}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted() {
        let mut outcomes = Outcomes::default();
        for outcome in ["413", "closed", "413"] {
            outcomes.add(outcome);
        }
        outcomes.add_times("silent", 0);
        assert_eq!(outcomes.to_string(), "413 ×2, closed");
        assert!(outcomes.are_only(&["closed", "413"]) && !outcomes.are_only(&["413"]));
    }
}
