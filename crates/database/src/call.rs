//! One call of the database, as its thread and those who wait for it see it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use crate::Error;

/// A call. What one side decides the other cannot overlook: whoever waits gives it up before its commit begins, after it
/// ends, or not knowing how it ends.
pub(crate) struct Call(Mutex<State>);

struct State {
    step: Step,
    given_to: Option<(i32, u64)>,
    /// Its place among those that run at once.
    permit: Option<OwnedSemaphorePermit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Working,
    Committing,
    /// How it ended is known, and on its way to who waits.
    Decided,
    /// Nobody waits for it.
    Left,
    Ended,
}

impl Call {
    pub(crate) fn new(permit: OwnedSemaphorePermit) -> Self {
        Self(Mutex::new(State { step: Step::Working, given_to: None, permit: Some(permit) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has a connection. False when it was given up meanwhile: then there is nothing to do.
    pub(crate) fn begin(&self, backend: i32, silences: u64) -> bool {
        let mut state = self.state();
        state.given_to = Some((backend, silences));
        state.step == Step::Working
    }

    /// The server's process that it was given to, if it was, and how often the server had been silent before.
    pub(crate) fn given_to(&self) -> Option<(i32, u64)> {
        self.state().given_to
    }

    /// The right to commit, unless it was given up: then nothing may change.
    pub(crate) fn commit(&self) -> bool {
        self.turn(Step::Working, Step::Committing)
    }

    /// The commit went one way or the other; or the transaction lost against another and is run again.
    pub(crate) fn committed(&self, again: bool) {
        self.turn(Step::Committing, if again { Step::Working } else { Step::Decided });
    }

    /// It ends without a connection, unless it was given up.
    pub(crate) fn decided(&self) -> bool {
        self.turn(Step::Working, Step::Decided)
    }

    fn turn(&self, from: Step, to: Step) -> bool {
        let mut state = self.state();
        let turned = state.step == from;
        if turned {
            state.step = to;
        }
        turned
    }

    /// Gives it up, unless it has just ended, and says what to answer. Its place is free if there is room for another
    /// that waits in vain.
    pub(crate) fn leave(&self, room: impl FnOnce() -> bool) -> Option<Error> {
        let mut state = self.state();
        let silent = "it is silent".to_owned();
        let error = match state.step {
            Step::Working => Error::Unavailable(silent),
            Step::Committing => Error::CommitUnknown(silent),
            Step::Decided | Step::Left | Step::Ended => return None,
        };
        state.step = Step::Left;
        if room() {
            state.permit = None;
        }
        Some(error)
    }

    /// Its thread has ended. True if it had been given up.
    pub(crate) fn end(&self) -> bool {
        let mut state = self.state();
        state.permit = None;
        std::mem::replace(&mut state.step, Step::Ended) == Step::Left
    }
}
