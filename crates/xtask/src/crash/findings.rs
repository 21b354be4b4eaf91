//! What was found: what was lost, doubled or half there, and how many writes of each kind there were.

use std::collections::BTreeMap;

use super::line::State;

/// So many of what was found are told one by one.
const TOLD: usize = 20;

/// What was found over all rounds.
#[derive(Debug, Default)]
pub struct Findings {
    /// Acknowledged and not there, or not as it was acknowledged.
    pub lost: usize,
    /// There more than once, or without being sent, or though it was refused.
    pub doubled: usize,
    /// There in part, or otherwise than it was sent.
    pub half: usize,
    kinds: BTreeMap<&'static str, Tally>,
}

/// How many writes of a kind there were.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub acknowledged: usize,
    pub refused: usize,
    /// The connection broke off, and it was there.
    pub there: usize,
    /// The connection broke off, and it was not there.
    pub not_there: usize,
}

impl Findings {
    pub fn lost(&mut self, what: &str) {
        self.lost += 1;
        self.tell("lost", what);
    }

    pub fn doubled(&mut self, what: &str) {
        self.doubled += 1;
        self.tell("doubled", what);
    }

    pub fn half(&mut self, what: &str) {
        self.half += 1;
        self.tell("half", what);
    }

    /// What has to be so, or else something is half there.
    pub fn whole(&mut self, right: bool, what: impl FnOnce() -> String) {
        if !right {
            self.half(&what());
        }
    }

    fn tell(&self, how: &str, what: &str) {
        if self.lost + self.doubled + self.half <= TOLD {
            eprintln!("    {how}: {what}");
        }
    }

    /// Whether nothing was found so far.
    pub fn none(&self) -> bool {
        self.lost + self.doubled + self.half == 0
    }

    /// Something is there so many times.
    pub fn times(&mut self, state: &State, times: usize, what: &str) {
        match (state, times) {
            (State::Done(_), 0) => self.lost(what),
            (State::Not, 1..) => self.doubled(&format!("{what}, which is there though it was refused")),
            (_, 2..) => self.doubled(&format!("{what}, which is there {times} times")),
            _ => {}
        }
    }

    /// Counts a write of a kind; of one in doubt, whether it was there.
    pub fn count(&mut self, kind: &'static str, state: &State, there: bool) {
        let tally = self.kinds.entry(kind).or_default();
        *match (state, there) {
            (State::Done(_), _) => &mut tally.acknowledged,
            (State::Not, _) => &mut tally.refused,
            (State::Doubt, true) => &mut tally.there,
            (State::Doubt, false) => &mut tally.not_there,
        } += 1;
    }

    /// The writes of a kind.
    pub fn tally(&self, kind: &str) -> Tally {
        self.kinds.get(kind).copied().unwrap_or_default()
    }
}
