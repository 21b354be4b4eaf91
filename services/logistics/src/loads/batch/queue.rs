//! Which batch is checked next: organisations take turns.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::Error;
use tokio::sync::oneshot;

/// An organisation may have this many batches waiting.
const MAX_WAITING: usize = 8;

/// A fixed number of slots. An organisation waits for at most one batch of each other organisation before its own next
/// batch starts.
pub struct FairQueue(Mutex<State>);

struct State {
    free_slots: usize,
    /// The organisations that wait, in the order of their turns, with their waiting batches.
    turns: VecDeque<(String, VecDeque<oneshot::Sender<Slot>>)>,
}

/// The right to check one batch, given back when this is dropped.
pub struct Slot(Option<Arc<FairQueue>>);

impl FairQueue {
    /// A queue with this many slots.
    pub fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { free_slots: slots, turns: VecDeque::new() })))
    }

    /// Waits for a slot in the turn of this organisation.
    ///
    /// # Errors
    /// 503 after the timeout, or at once if the organisation has too many batches waiting.
    pub async fn acquire(self: &Arc<Self>, organisation: &str, timeout: Duration) -> Result<Slot, Error> {
        let Some(slot) = self.enter(organisation)? else { return Ok(Slot(Some(self.clone()))) };
        match tokio::time::timeout(timeout, slot).await {
            Ok(slot) => slot.map_err(|e| Error::Internal(e.into())),
            Err(elapsed) => Err(busy(elapsed.into())),
        }
    }

    /// Takes a free slot (`None`) or joins the queue.
    fn enter(&self, organisation: &str) -> Result<Option<oneshot::Receiver<Slot>>, Error> {
        let mut state = self.lock();
        if state.free_slots > 0 {
            state.free_slots -= 1;
            return Ok(None);
        }
        let place = state.turns.iter().position(|(known, _)| known == organisation);
        let place = place.unwrap_or_else(|| {
            state.turns.push_back((organisation.to_owned(), VecDeque::new()));
            state.turns.len() - 1
        });
        let waiting = &mut state.turns[place].1;
        waiting.retain(|sender| !sender.is_closed());
        if waiting.len() == MAX_WAITING {
            return Err(busy(anyhow::anyhow!("{MAX_WAITING} batches of the organisation wait already")));
        }
        let (sender, receiver) = oneshot::channel();
        waiting.push_back(sender);
        Ok(Some(receiver))
    }

    /// The batch whose turn it is; frees the slot if none waits.
    fn next(&self) -> Option<oneshot::Sender<Slot>> {
        let mut state = self.lock();
        while let Some((organisation, mut waiting)) = state.turns.pop_front() {
            let next = waiting.pop_front();
            if !waiting.is_empty() {
                state.turns.push_back((organisation, waiting));
            }
            if next.is_some() {
                return next;
            }
        }
        state.free_slots += 1;
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(queue) = self.0.take() else { return };
        while let Some(waiting) = queue.next() {
            match waiting.send(Self(Some(queue.clone()))) {
                Ok(()) => return,
                // Gave up meanwhile: its slot goes to the next one here, not through another drop.
                Err(mut slot) => slot.0 = None,
            }
        }
    }
}

fn busy(cause: anyhow::Error) -> Error {
    Error::Unavailable(cause, "The reader of batches, which is busy,")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins a queue whose slots are taken.
    fn wait(queue: &FairQueue, organisation: &str) -> oneshot::Receiver<Slot> {
        queue.enter(organisation).unwrap().expect("no slot is free")
    }

    #[test]
    fn organisations_take_turns() {
        let queue = FairQueue::new(1);
        assert!(queue.enter("a").unwrap().is_none());
        let mut running = Slot(Some(queue.clone()));
        let mut waiting: Vec<_> =
            ["a", "a", "a", "b", "c", "b"].into_iter().map(|name| (name, wait(&queue, name))).collect();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(running);
            let mut started: Vec<_> =
                waiting.iter_mut().map(|(_, waiting)| waiting.try_recv().ok()).collect();
            let at = started.iter().position(Option::is_some).unwrap();
            running = started.swap_remove(at).unwrap();
            assert!(started.iter().all(Option::is_none), "one slot, one batch");
            order.push(waiting.remove(at).0);
        }
        assert_eq!(order, ["a", "b", "c", "a", "b", "a"]);
        drop(running);
        assert_eq!(queue.lock().free_slots, 1);
    }

    #[test]
    fn an_organisation_has_few_batches_waiting() {
        let queue = FairQueue::new(1);
        assert!(queue.enter("a").unwrap().is_none());
        let running = Slot(Some(queue.clone()));
        let waiting: Vec<_> = (0..MAX_WAITING).map(|_| wait(&queue, "a")).collect();
        assert!(matches!(queue.enter("a"), Err(Error::Unavailable(..))));
        let mut other = wait(&queue, "b");
        // Batches that gave up hold neither a place nor a slot.
        drop(waiting);
        let given_up = wait(&queue, "a");
        drop(given_up);
        drop(running);
        let running = other.try_recv().unwrap();
        drop(running);
        assert_eq!(queue.lock().free_slots, 1);
        assert!(queue.enter("a").unwrap().is_none());
    }
}
