//! Claims of due messages, in which groups take turns.

pub(super) mod store;

use std::collections::HashMap;
use std::time::Duration;

/// Maximum number of concurrent deliveries of one owner.
pub(super) const MAX_SLOTS_PER_OWNER: usize = 16;
/// Maximum number of groups of one owner that matter for the number of candidates of a claim.
const GROUPS_PER_OWNER: usize = 20;

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
    fn candidates(&self) -> usize {
        let full = self.held_by_owner.values().filter(|held| **held >= MAX_SLOTS_PER_OWNER).count();
        self.slots + self.held_by_group.len() + GROUPS_PER_OWNER * full
    }

    /// Divides the free slots equally among the first groups that may hold more. The first ones get the remainder.
    fn shares(&self, candidates: Vec<Candidate>) -> Vec<(Candidate, usize)> {
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
