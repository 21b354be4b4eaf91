//! A fair queue for batches: tenants take turns.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use common::Error;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// How long a batch waits for a slot.
pub(crate) const QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of batches of a tenant that may wait. Their files are in the temporary folder.
const MAX_WAITING: usize = 8;

/// A fixed number of slots. No tenant holds all of them, unless there is only one. While a tenant waits, each other
/// tenant starts at most one batch before it.
pub(crate) struct FairQueue {
    max_slots_per_tenant: usize,
    state: Mutex<QueueState>,
}

struct QueueState {
    free_slots: usize,
    /// The tenant of each slot in use.
    holders: Vec<String>,
    /// The waiting tenants in the order of their turns, with their waiting batches.
    turns: VecDeque<(String, VecDeque<oneshot::Sender<Slot>>)>,
}

/// The right to validate and store one batch. Released on drop.
pub(crate) struct Slot {
    /// `None` if the slot was released already.
    queue: Option<Arc<FairQueue>>,
    tenant: String,
}

impl FairQueue {
    /// Returns a queue with this many slots.
    pub(crate) fn new(slots: usize) -> Arc<Self> {
        let state = QueueState { free_slots: slots, holders: Vec::new(), turns: VecDeque::new() };
        Arc::new(Self { max_slots_per_tenant: (slots - 1).max(1), state: Mutex::new(state) })
    }

    /// Waits for a slot.
    ///
    /// # Errors
    /// 503 after the timeout, or at once if too many batches of the tenant are waiting.
    pub(crate) async fn acquire(self: &Arc<Self>, tenant: String, timeout: Duration) -> Result<Slot, Error> {
        match tokio::time::timeout(timeout, self.enter(tenant)?).await {
            Ok(slot) => slot.map_err(|e| Error::Internal(e.into())),
            Err(_) => Err(busy("no slot became free in time")),
        }
    }

    /// Joins the queue. The receiver gets the slot, at once if one is free.
    fn enter(self: &Arc<Self>, tenant: String) -> Result<oneshot::Receiver<Slot>, Error> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        match state.turns.iter_mut().find(|(known, _)| *known == tenant) {
            Some((_, waiting)) => {
                waiting.retain(|sender| !sender.is_closed());
                if waiting.len() == MAX_WAITING {
                    return Err(busy("too many batches of the tenant are waiting"));
                }
                waiting.push_back(sender);
            }
            None => state.turns.push_back((tenant, VecDeque::from([sender]))),
        }
        drop(state);
        self.assign_slots();
        Ok(receiver)
    }

    /// Assigns free slots to the batches whose turn it is.
    fn assign_slots(self: &Arc<Self>) {
        loop {
            let next = self.state.lock().next(self.max_slots_per_tenant);
            let Some((tenant, waiting)) = next else { return };
            if let Err(mut slot) = waiting.send(Slot { queue: Some(self.clone()), tenant }) {
                // The batch has left the queue. Releases its slot here, because the drop would call this function
                // again.
                slot.queue = None;
                self.state.lock().release(&slot.tenant);
            }
        }
    }
}

impl QueueState {
    /// Takes a free slot for the next tenant that may hold one more. Returns the tenant and its first batch.
    fn next(&mut self, max_slots_per_tenant: usize) -> Option<(String, oneshot::Sender<Slot>)> {
        while self.free_slots > 0 {
            let held = |tenant: &str| self.holders.iter().filter(|holder| *holder == tenant).count();
            let turn = self.turns.iter().position(|(tenant, _)| held(tenant) < max_slots_per_tenant)?;
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
            queue.state.lock().release(&self.tenant);
            queue.assign_slots();
        }
    }
}

/// Logs the reason and returns 503.
fn busy(reason: &str) -> Error {
    tracing::warn!(reason, "refused a batch because of too many others");
    Error::Busy("Too many batches are being validated and nothing was changed: try again later.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins the queue once per tenant in the list.
    fn enter<'a>(queue: &Arc<FairQueue>, tenants: &[&'a str]) -> Vec<(&'a str, oneshot::Receiver<Slot>)> {
        tenants.iter().map(|tenant| (*tenant, queue.enter((*tenant).to_owned()).unwrap())).collect()
    }

    /// Removes and returns the batches that have got a slot.
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
        assert_eq!(queue.state.lock().free_slots, 1);
    }

    #[test]
    fn tenant_never_holds_all_slots() {
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
        let state = queue.state.lock();
        assert_eq!((state.free_slots, state.holders.len()), (2, 0));
    }

    #[test]
    fn limits_waiting_batches_of_a_tenant() {
        let queue = FairQueue::new(1);
        let waiting = enter(&queue, &["a"; MAX_WAITING + 1]);
        assert!(matches!(queue.enter("a".to_owned()), Err(Error::Busy(_))));
        enter(&queue, &["b"]);
        // Batches that left the queue do not count.
        drop(waiting);
        enter(&queue, &["a"]);
    }

    #[test]
    fn batches_that_left_the_queue_get_no_slot() {
        let queue = FairQueue::new(1);
        let mut running = enter(&queue, &["a"]);
        let running = started(&mut running);
        drop(enter(&queue, &["a", "b", "a"]));
        let mut other = enter(&queue, &["c"]);
        // The first waiting batches have left the queue.
        drop(running);
        assert_eq!(names(&started(&mut other)), "c");
        let state = queue.state.lock();
        assert_eq!((state.free_slots, state.turns.len()), (1, 0));
    }
}
