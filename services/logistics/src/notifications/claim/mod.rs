//! Claiming what is due, in turns of the organisations that sent it.

pub mod store;

use std::collections::HashMap;
use std::time::Duration;

/// What may be claimed.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// Free slots.
    pub slots: usize,
    /// An organisation may hold this many slots.
    pub max_slots_of_one: usize,
    /// The slots that organisations hold already.
    pub in_flight: HashMap<String, usize>,
    /// The organisation whose turn was last.
    pub last: String,
    pub lease: Duration,
}

impl ClaimRequest {
    /// True for an organisation that may hold no more slots.
    fn is_full(&self, organisation: &str) -> bool {
        self.in_flight.get(organisation).is_some_and(|held| *held >= self.max_slots_of_one)
    }

    /// The free slots in equal shares; the first organisations get what is left over.
    fn shares(&self, organisations: Vec<String>) -> Vec<(String, usize)> {
        let count = organisations.len().max(1);
        let (each, left_over) = (self.slots / count, self.slots % count);
        let share = |(place, organisation): (usize, String)| {
            let held = self.in_flight.get(&organisation).copied().unwrap_or_default();
            let share = each + usize::from(place < left_over);
            (organisation, share.min(self.max_slots_of_one.saturating_sub(held)))
        };
        organisations.into_iter().enumerate().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_shared_equally_and_no_organisation_holds_too_many() {
        let request = |slots, in_flight: &[(&str, usize)]| ClaimRequest {
            slots,
            max_slots_of_one: 4,
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
