//! Rules that files must follow.

use anyhow::{Result, ensure};

/// A rule that holds or is broken.
#[derive(Debug)]
pub struct Rule {
    holds: bool,
    text: String,
}

/// Creates a rule from its result and a sentence with "must".
pub fn rule(holds: bool, text: impl Into<String>) -> Rule {
    Rule { holds, text: text.into() }
}

impl Rule {
    /// Puts the subject of the rule before its text.
    pub fn of(mut self, subject: &str) -> Self {
        self.text = format!("{subject}: {}", self.text);
        self
    }
}

/// Fails with a list of the broken rules. Returns how many rules there are.
pub fn check(rules: &[Rule]) -> Result<usize> {
    let broken: Vec<_> = rules.iter().filter(|rule| !rule.holds).map(|rule| rule.text.as_str()).collect();
    ensure!(broken.is_empty(), "broken rules:\n{}", broken.join("\n"));
    Ok(rules.len())
}
