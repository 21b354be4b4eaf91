//! Limits on concurrent deliveries: in total, for each owner and for each group.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use common::Error;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::outbox::claim::{ClaimRequest, MAX_SLOTS_PER_OWNER};
use crate::outbox::model::Claimed;

/// Maximum number of concurrent deliveries. Fifteen owners whose receivers hang leave slots free for others.
const MAX_DELIVERIES: u32 = 256;

/// Groups whose last cause is remembered. Above it, causes begin their turns anew.
const MAX_REMEMBERED_GROUPS: usize = 1_000;

/// The delivery slots of this replica.
pub(super) struct Slots {
    /// A permit for each free slot.
    permits: Arc<Semaphore>,
    rotation: Mutex<Rotation>,
    /// Notified when a group or an owner releases the last slot it may hold.
    wake: Arc<Notify>,
}

/// The order in which groups get slots.
#[derive(Debug, Default)]
struct Rotation {
    /// Number of slots that each group holds.
    by_group: HashMap<String, usize>,
    /// Number of slots that each owner holds.
    by_owner: HashMap<String, usize>,
    /// Group that got the last slot.
    last: String,
    /// Cause that got the last slot of each group.
    last_causes: HashMap<String, String>,
}

impl Slots {
    /// Creates the slots, all of them free.
    pub(super) fn new(wake: Arc<Notify>) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_DELIVERIES as usize));
        Self { permits, rotation: Mutex::default(), wake }
    }

    /// Waits until a slot is free, and takes all that are free.
    ///
    /// # Errors
    /// If the semaphore was closed, which never happens.
    pub(super) async fn acquire_free(&self) -> Result<OwnedSemaphorePermit, Error> {
        let closed = |_| Error::Internal(anyhow::anyhow!("the slots were closed"));
        let mut free = self.permits.clone().acquire_owned().await.map_err(closed)?;
        while let Ok(permit) = self.permits.clone().try_acquire_owned() {
            free.merge(permit);
        }
        Ok(free)
    }

    /// Returns the request that claims messages for this many free slots.
    pub(super) fn claim_request(&self, slots: usize, lease: Duration) -> ClaimRequest {
        let rotation = self.rotation.lock();
        ClaimRequest {
            slots,
            held_by_group: rotation.by_group.clone(),
            held_by_owner: rotation.by_owner.clone(),
            last: rotation.last.clone(),
            last_causes: rotation.last_causes.clone(),
            lease,
        }
    }

    /// Gives a slot to a message until the result is dropped.
    pub(super) fn hold(
        self: &Arc<Self>,
        claimed: &Claimed,
        permit: Option<OwnedSemaphorePermit>,
    ) -> HeldSlot {
        let Claimed { group, owner, max_slots, cause, .. } = claimed;
        let mut rotation = self.rotation.lock();
        *rotation.by_group.entry(group.clone()).or_default() += 1;
        *rotation.by_owner.entry(owner.clone()).or_default() += 1;
        rotation.last.clone_from(group);
        if let Some(cause) = cause {
            if rotation.last_causes.len() >= MAX_REMEMBERED_GROUPS {
                rotation.last_causes.clear();
            }
            rotation.last_causes.insert(group.clone(), cause.clone());
        }
        drop(rotation);
        HeldSlot {
            slots: self.clone(),
            group: group.clone(),
            owner: owner.clone(),
            max_slots: *max_slots,
            _permit: permit,
        }
    }

    /// Waits until all slots are free, and takes them for good.
    pub(super) async fn drain(&self) {
        if let Ok(all) = self.permits.acquire_many(MAX_DELIVERIES).await {
            all.forget();
        }
    }
}

/// A slot that a message holds until this is dropped.
pub(super) struct HeldSlot {
    slots: Arc<Slots>,
    group: String,
    owner: String,
    max_slots: usize,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        let mut rotation = self.slots.rotation.lock();
        let group_was_full = release(&mut rotation.by_group, &self.group, self.max_slots);
        let owner_was_full = release(&mut rotation.by_owner, &self.owner, MAX_SLOTS_PER_OWNER);
        drop(rotation);
        // Due messages may wait for this slot.
        if group_was_full || owner_was_full {
            self.slots.wake.notify_one();
        }
    }
}

/// Takes back a slot. Returns whether all slots were held.
fn release(held: &mut HashMap<String, usize>, key: &str, max: usize) -> bool {
    let Some(count) = held.get_mut(key) else { return false };
    let was_full = *count >= max;
    *count -= 1;
    if *count == 0 {
        held.remove(key);
    }
    was_full
}
