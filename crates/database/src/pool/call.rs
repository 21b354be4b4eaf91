//! The state of one call of the pool, shared by the thread that runs it and, on PostgreSQL, the watchdog that may
//! abandon it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use crate::Error;
use crate::postgres::BackendId;

/// A database call. The thread and the watchdog change its phase under one lock, so an abandoned call never starts its
/// commit, and a call whose commit has finished is never abandoned.
pub(crate) struct Call(Mutex<State>);

struct State {
    phase: Phase,
    /// The connection that the call runs on, or ran on before it was dead.
    assignment: Option<Assignment>,
    /// True while the thread waits for a connection of the pool.
    awaits_connection: bool,
    /// The permit to run. Other calls may run once it is dropped.
    permit: Option<OwnedSemaphorePermit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Committing,
    /// The outcome is known, and the thread is returning it.
    Decided,
    /// The watchdog has answered the caller. The thread still waits for the server.
    Abandoned,
    /// The thread has ended.
    Ended,
}

/// The connection that a call runs on.
#[derive(Clone, Copy)]
pub(crate) struct Assignment {
    /// What executes the call.
    pub backend: BackendId,
    /// The generation to which the connection belongs.
    pub generation: u64,
}

impl Call {
    /// Creates a running call that holds this permit.
    pub(crate) fn new(permit: OwnedSemaphorePermit) -> Self {
        let permit = Some(permit);
        Self(Mutex::new(State { phase: Phase::Running, assignment: None, awaits_connection: false, permit }))
    }

    /// Records whether the thread waits for a connection of the pool. It stops waiting by itself at its deadline.
    pub(crate) fn set_awaits_connection(&self, awaits_connection: bool) {
        self.0.lock().awaits_connection = awaits_connection;
    }

    /// Returns true while the thread waits for a connection of the pool.
    pub(crate) fn awaits_connection(&self) -> bool {
        self.0.lock().awaits_connection
    }

    /// Records the connection that the call runs on. Returns false if the call was abandoned and must not run.
    pub(crate) fn assign(&self, assignment: Assignment) -> bool {
        let mut state = self.0.lock();
        state.assignment = Some(assignment);
        state.phase == Phase::Running
    }

    /// Returns the connection that the call runs on, or `None` before it runs on one.
    pub(crate) fn assignment(&self) -> Option<Assignment> {
        self.0.lock().assignment
    }

    /// Marks the start of the commit. Returns false if the call was abandoned and must roll back.
    pub(crate) fn start_commit(&self) -> bool {
        self.advance(Phase::Running, Phase::Committing)
    }

    /// Marks the end of the commit. `retries` says that the transaction failed and runs again.
    pub(crate) fn end_commit(&self, retries: bool) {
        self.advance(Phase::Committing, if retries { Phase::Running } else { Phase::Decided });
    }

    /// Marks a call that got no connection. Returns false if it was abandoned.
    pub(crate) fn fail_without_connection(&self) -> bool {
        self.advance(Phase::Running, Phase::Decided)
    }

    fn advance(&self, from: Phase, to: Phase) -> bool {
        let mut state = self.0.lock();
        let is_allowed = state.phase == from;
        if is_allowed {
            state.phase = to;
        }
        is_allowed
    }

    /// Abandons the call and returns the error for its caller, or `None` if its outcome is known already. The permit is
    /// released if `may_release` returns true.
    pub(crate) fn abandon(&self, may_release: impl FnOnce() -> bool) -> Option<Error> {
        let mut state = self.0.lock();
        let reason = "the server does not respond".to_owned();
        let error = match state.phase {
            Phase::Running => Error::unavailable(reason),
            Phase::Committing => Error::CommitUnknown(reason),
            Phase::Decided | Phase::Abandoned | Phase::Ended => return None,
        };
        state.phase = Phase::Abandoned;
        if may_release() {
            state.permit = None;
        }
        Some(error)
    }

    /// Marks the end of the thread and releases the permit. Returns true if the call had been abandoned.
    pub(crate) fn end(&self) -> bool {
        let mut state = self.0.lock();
        state.permit = None;
        std::mem::replace(&mut state.phase, Phase::Ended) == Phase::Abandoned
    }
}

/// Polls a future in the task of the caller, which costs less than a task of its own. If this is dropped before the
/// future has ended, a task runs it to its end.
pub(crate) struct RunToEnd<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> RunToEnd<F> {
    pub(crate) fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for RunToEnd<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let output = ready!(future.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(output)
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for RunToEnd<F> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn a_dropped_future_runs_to_its_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // Returns a future that waits at a gate, the gate, and the receiver of what it sends at its end.
            let gated = || {
                let (open, gate) = oneshot::channel();
                let (sender, receiver) = oneshot::channel();
                let future = RunToEnd::new(async move {
                    let _ = gate.await;
                    sender.send(1)
                });
                (future, open, receiver)
            };
            let (future, open, mut receiver) = gated();
            let (sent, opened) = tokio::join!(future, async { open.send(()) });
            assert_eq!((sent, opened), (Ok(()), Ok(())));
            assert_eq!(receiver.try_recv(), Ok(1));
            let (future, open, receiver) = gated();
            assert!(timeout(Duration::from_millis(1), future).await.is_err());
            open.send(()).unwrap();
            assert_eq!(receiver.await, Ok(1));
        });
    }
}
