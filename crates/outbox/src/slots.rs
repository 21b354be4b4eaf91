//! Limits on concurrent deliveries: in total, for each owner and for each group. Groups take turns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use common::Error;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::model::Claimed;

/// Maximum number of concurrent deliveries. Fifteen owners whose receivers hang leave slots free for others.
const MAX_DELIVERIES: u32 = 256;
/// Groups whose last cause is remembered. Above it, all are forgotten, and each group starts with its first cause.
const MAX_REMEMBERED_GROUPS: usize = 1_000;
/// Maximum number of concurrent deliveries of one owner.
pub(super) const MAX_SLOTS_PER_OWNER: usize = 16;
/// Number of groups of one owner that count for the number of candidates of a claim.
const GROUPS_PER_OWNER: usize = 20;

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

/// A request to claim due messages.
#[derive(Clone, Debug)]
pub(super) struct ClaimRequest {
    /// Number of free slots.
    pub(super) slots: usize,
    /// Number of slots that each group holds already.
    pub(super) held_by_group: HashMap<String, usize>,
    /// Number of slots that each owner holds already.
    pub(super) held_by_owner: HashMap<String, usize>,
    /// Group that got the last slot.
    pub(super) last: String,
    /// Cause that got the last slot of each group.
    pub(super) last_causes: HashMap<String, String>,
    /// Duration of the claims.
    pub(super) lease: Duration,
}

/// A group with due messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) group: String,
    pub(super) owner: String,
    /// Number of slots that the group may hold.
    pub(super) max_slots: usize,
}

impl ClaimRequest {
    /// Returns the number of candidates to look at: enough to fill all free slots although some candidates hold all
    /// their slots, or their owners do.
    pub(super) fn candidates(&self) -> usize {
        let full = self.held_by_owner.values().filter(|held| **held >= MAX_SLOTS_PER_OWNER).count();
        self.slots + self.held_by_group.len() + GROUPS_PER_OWNER * full
    }

    /// Divides the free slots equally among the first groups that may hold more. The first ones get the remainder.
    pub(super) fn shares(&self, candidates: Vec<Candidate>) -> Vec<(Candidate, usize)> {
        let held = |map: &HashMap<String, usize>, key: &str| map.get(key).copied().unwrap_or_default();
        let room = |candidate: &Candidate| {
            candidate.max_slots.saturating_sub(held(&self.held_by_group, &candidate.group))
        };
        let mut left: HashMap<String, usize> = HashMap::new();
        for candidate in &candidates {
            let held = held(&self.held_by_owner, &candidate.owner);
            left.insert(candidate.owner.clone(), MAX_SLOTS_PER_OWNER.saturating_sub(held));
        }
        let mut next: Vec<_> = candidates
            .into_iter()
            .filter(|candidate| room(candidate) > 0 && held(&left, &candidate.owner) > 0)
            .collect();
        next.truncate(self.slots);
        let count = next.len().max(1);
        let (each, remainder) = (self.slots / count, self.slots % count);
        let mut shares = Vec::new();
        for (index, candidate) in next.into_iter().enumerate() {
            let share = (each + usize::from(index < remainder)).min(room(&candidate));
            if let Some(left) = left.get_mut(&candidate.owner) {
                let share = share.min(*left);
                *left -= share;
                if share > 0 {
                    shares.push((candidate, share));
                }
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(slots: usize, by_group: &[(&str, usize)], by_owner: &[(&str, usize)]) -> ClaimRequest {
        let map =
            |held: &[(&str, usize)]| held.iter().map(|(key, held)| ((*key).to_owned(), *held)).collect();
        ClaimRequest {
            slots,
            held_by_group: map(by_group),
            held_by_owner: map(by_owner),
            last: String::new(),
            last_causes: HashMap::new(),
            lease: Duration::ZERO,
        }
    }

    /// Returns the shares of groups, each with its owner and maximum.
    fn shares(request: &ClaimRequest, groups: &[(&str, &str, usize)]) -> Vec<(String, usize)> {
        let candidate = |(group, owner, max_slots): &(&str, &str, usize)| Candidate {
            group: (*group).to_owned(),
            owner: (*owner).to_owned(),
            max_slots: *max_slots,
        };
        let shares = request.shares(groups.iter().map(candidate).collect());
        shares.into_iter().map(|(candidate, share)| (candidate.group, share)).collect()
    }

    fn expected(shares: &[(&str, usize)]) -> Vec<(String, usize)> {
        shares.iter().map(|(group, share)| ((*group).to_owned(), *share)).collect()
    }

    #[test]
    fn shares_are_equal_up_to_the_maximum_of_a_group() {
        let groups = [("a", "a", 4), ("b", "b", 4), ("c", "c", 1)];
        let free = |slots| request(slots, &[], &[]);
        assert_eq!(shares(&free(8), &groups), expected(&[("a", 3), ("b", 3), ("c", 1)]));
        assert_eq!(shares(&free(2), &groups), expected(&[("a", 1), ("b", 1)]));
        assert_eq!(shares(&free(8), &groups[..1]), expected(&[("a", 4)]));
        assert_eq!(shares(&free(8), &[]), []);
        let held = request(8, &[("b", 3), ("c", 1)], &[("b", 3), ("c", 1)]);
        assert_eq!(shares(&held, &groups), expected(&[("a", 4), ("b", 1)]));
    }

    #[test]
    fn the_groups_of_an_owner_share_its_slots() {
        let groups = [("a1", "a", 8), ("a2", "a", 8), ("a3", "a", 8), ("b", "b", 8)];
        let all = shares(&request(256, &[], &[]), &groups);
        let of_a: usize =
            all.iter().filter(|(group, _)| group.starts_with('a')).map(|(_, share)| share).sum();
        assert_eq!(of_a, MAX_SLOTS_PER_OWNER);
        let full = request(3, &[("a1", 8), ("a2", 8)], &[("a", 16)]);
        assert_eq!(shares(&full, &groups), expected(&[("b", 3)]));
        assert_eq!(full.candidates(), 3 + 2 + 20);
    }
}
