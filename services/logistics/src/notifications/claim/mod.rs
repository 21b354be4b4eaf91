//! Claims of due notifications, in which the sending organisations take turns.

pub(crate) mod store;

use std::collections::HashMap;
use std::time::Duration;

/// A request to claim due notifications.
#[derive(Clone, Debug)]
pub(crate) struct ClaimRequest {
    /// Number of free slots.
    pub slots: usize,
    /// Maximum number of slots of one organisation.
    pub max_slots_per_organisation: usize,
    /// Number of slots that each organisation holds already.
    pub in_flight: HashMap<String, usize>,
    /// Organisation that got the last slot.
    pub last: String,
    /// Duration of the claims.
    pub lease: Duration,
}

impl ClaimRequest {
    /// Returns whether an organisation holds all slots that it may hold.
    fn is_full(&self, organisation: &str) -> bool {
        self.in_flight.get(organisation).is_some_and(|held| *held >= self.max_slots_per_organisation)
    }

    /// Divides the free slots equally among organisations, up to the maximum of each. The first ones get the remainder.
    fn shares(&self, organisations: Vec<String>) -> Vec<(String, usize)> {
        let count = organisations.len().max(1);
        let (each, remainder) = (self.slots / count, self.slots % count);
        let share = |(index, organisation): (usize, String)| {
            let held = self.in_flight.get(&organisation).copied().unwrap_or_default();
            let share = each + usize::from(index < remainder);
            (organisation, share.min(self.max_slots_per_organisation.saturating_sub(held)))
        };
        organisations.into_iter().enumerate().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_equal_up_to_the_maximum_of_an_organisation() {
        let request = |slots, in_flight: &[(&str, usize)]| ClaimRequest {
            slots,
            max_slots_per_organisation: 4,
            in_flight: in_flight.iter().map(|(name, held)| ((*name).to_owned(), *held)).collect(),
            last: String::new(),
            lease: Duration::ZERO,
        };
        let shared = |names: &[&str], request: &ClaimRequest| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            request.shares(names).into_iter().map(|(_, share)| share).collect::<Vec<_>>()
        };
        assert_eq!(shared(&["a", "b", "c"], &request(8, &[])), [3, 3, 2]);
        assert_eq!(shared(&["a", "b"], &request(8, &[("b", 3)])), [4, 1]);
        assert_eq!(shared(&["a"], &request(8, &[])), [4]);
        assert_eq!(shared(&[], &request(8, &[])), [0; 0]);
    }
}
