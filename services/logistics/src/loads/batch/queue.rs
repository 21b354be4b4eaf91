//! Which batch is checked next: tenants take turns.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::Error;
use tokio::sync::oneshot;

/// How long a batch waits for others.
pub const QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// Batches of one tenant that may wait: their files take up the temporary folder.
const MAX_WAITING: usize = 8;

/// A fixed number of slots. A tenant never holds all of them (if there are several), and waits for at most one batch of each
/// other tenant before its own next batch starts.
pub struct FairQueue {
    max_slots_of_one: usize,
    state: Mutex<State>,
}

struct State {
    free_slots: usize,
    /// The tenant of each slot that is held.
    holders: Vec<String>,
    /// The tenants that wait, in the order of their turns, with their waiting batches.
    turns: VecDeque<(String, VecDeque<oneshot::Sender<Slot>>)>,
}

/// The right to check one batch, given back when this is dropped.
pub struct Slot {
    /// `None` once the slot was given back.
    queue: Option<Arc<FairQueue>>,
    tenant: String,
}

impl FairQueue {
    /// A queue with this many slots.
    pub fn new(slots: usize) -> Arc<Self> {
        let state = State { free_slots: slots, holders: Vec::new(), turns: VecDeque::new() };
        Arc::new(Self { max_slots_of_one: (slots - 1).max(1), state: Mutex::new(state) })
    }

    /// Waits for a slot in the turn of this tenant.
    ///
    /// # Errors
    /// 503 after the timeout, or at once if the tenant has too many batches waiting.
    pub async fn acquire(self: &Arc<Self>, tenant: String, timeout: Duration) -> Result<Slot, Error> {
        match tokio::time::timeout(timeout, self.enter(tenant)?).await {
            Ok(slot) => slot.map_err(|e| Error::Internal(e.into())),
            Err(elapsed) => Err(busy(elapsed.into())),
        }
    }

    /// Joins the queue. The slot is there at once if one is free.
    fn enter(self: &Arc<Self>, tenant: String) -> Result<oneshot::Receiver<Slot>, Error> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        match state.turns.iter_mut().find(|(known, _)| *known == tenant) {
            Some((_, waiting)) => {
                waiting.retain(|sender| !sender.is_closed());
                if waiting.len() == MAX_WAITING {
                    return Err(busy(anyhow::anyhow!("{MAX_WAITING} batches of the tenant wait already")));
                }
                waiting.push_back(sender);
            }
            None => state.turns.push_back((tenant, VecDeque::from([sender]))),
        }
        drop(state);
        self.hand_out();
        Ok(receiver)
    }

    /// Gives free slots to the batches whose turn it is.
    fn hand_out(self: &Arc<Self>) {
        loop {
            let next = self.state().next(self.max_slots_of_one);
            let Some((tenant, waiting)) = next else { return };
            if let Err(mut slot) = waiting.send(Slot { queue: Some(self.clone()), tenant }) {
                // The batch gave up meanwhile. Its slot goes to the next one here, not through another drop.
                slot.queue = None;
                self.state().release(&slot.tenant);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes a free slot for the next tenant that may hold another, and returns its first batch.
    fn next(&mut self, max_slots_of_one: usize) -> Option<(String, oneshot::Sender<Slot>)> {
        while self.free_slots > 0 {
            let held = |tenant: &str| self.holders.iter().filter(|holder| *holder == tenant).count();
            let turn = self.turns.iter().position(|(tenant, _)| held(tenant) < max_slots_of_one)?;
            let (tenant, mut waiting) = self.turns.remove(turn)?;
            let first = waiting.pop_front();
            if !waiting.is_empty() {
                self.turns.push_back((tenant.clone(), waiting));
            }
            if let Some(first) = first.filter(|first| !first.is_closed()) {
                self.free_slots -= 1;
                self.holders.push(tenant.clone());
                return Some((tenant, first));
            }
        }
        None
    }

    fn release(&mut self, tenant: &str) {
        if let Some(slot) = self.holders.iter().position(|holder| holder == tenant) {
            self.holders.swap_remove(slot);
            self.free_slots += 1;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.state().release(&self.tenant);
            queue.hand_out();
        }
    }
}

/// 503: too many batches are under way.
fn busy(cause: anyhow::Error) -> Error {
    Error::Unavailable(cause, "The reader of batches, which is busy,")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins a queue once for each of these tenants.
    fn enter<'a>(queue: &Arc<FairQueue>, tenants: &[&'a str]) -> Vec<(&'a str, oneshot::Receiver<Slot>)> {
        tenants.iter().map(|tenant| (*tenant, queue.enter((*tenant).to_owned()).unwrap())).collect()
    }

    /// Takes the batches that have a slot by now out of the others.
    fn started<'a>(waiting: &mut Vec<(&'a str, oneshot::Receiver<Slot>)>) -> Vec<(&'a str, Slot)> {
        let mut started = Vec::new();
        waiting.retain_mut(|(tenant, slot)| {
            let slot = slot.try_recv().ok();
            let waits = slot.is_none();
            started.extend(slot.map(|slot| (*tenant, slot)));
            waits
        });
        started
    }

    fn names(slots: &[(&str, Slot)]) -> String {
        slots.iter().map(|(tenant, _)| *tenant).collect()
    }

    #[test]
    fn tenants_take_turns() {
        let queue = FairQueue::new(1);
        let mut waiting = enter(&queue, &["a", "a", "a", "a", "b", "c", "b"]);
        let mut order = String::new();
        loop {
            let running = started(&mut waiting);
            if running.is_empty() {
                break;
            }
            assert_eq!(running.len(), 1, "one slot, one batch");
            order += &names(&running);
        }
        assert_eq!(order, "aabcaba");
        assert_eq!(queue.state().free_slots, 1);
    }

    #[test]
    fn a_tenant_never_holds_all_slots() {
        let queue = FairQueue::new(2);
        let mut waiting = enter(&queue, &["a", "a", "a"]);
        let first = started(&mut waiting);
        assert_eq!(names(&first), "a");
        waiting.extend(enter(&queue, &["b"]));
        let other = started(&mut waiting);
        assert_eq!(names(&other), "b");
        drop(first);
        assert_eq!(names(&started(&mut waiting)), "a");
        assert_eq!(names(&started(&mut waiting)), "a");
        drop(other);
        let state = queue.state();
        assert_eq!((state.free_slots, state.holders.len()), (2, 0));
    }

    #[test]
    fn a_tenant_has_few_batches_waiting() {
        let queue = FairQueue::new(1);
        let waiting = enter(&queue, &["a"; MAX_WAITING + 1]);
        assert!(matches!(queue.enter("a".to_owned()), Err(Error::Unavailable(..))));
        enter(&queue, &["b"]);
        // Batches that gave up hold no place.
        drop(waiting);
        enter(&queue, &["a"]);
    }

    #[test]
    fn batches_that_gave_up_hold_neither_a_place_nor_a_slot() {
        let queue = FairQueue::new(1);
        let mut running = enter(&queue, &["a"]);
        let running = started(&mut running);
        drop(enter(&queue, &["a", "b", "a"]));
        let mut other = enter(&queue, &["c"]);
        // Gives up when its turn comes: nobody receives the slot.
        drop(running);
        assert_eq!(names(&started(&mut other)), "c");
        let state = queue.state();
        assert_eq!((state.free_slots, state.turns.len()), (1, 0));
    }
}
