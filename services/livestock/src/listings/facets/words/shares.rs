//! How much of a limited room each organisation takes.

use std::collections::HashMap;

/// An organisation may take this many times the room that is left.
const MAX_PER_UNIT_LEFT: usize = 3;

/// The room that organisations take. One of them alone takes at most three quarters of it, and none takes the last of
/// it: an organisation that stores very much leaves room for the others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shares {
    /// By number of the organisation.
    taken: HashMap<u32, usize>,
    total: usize,
}

impl Shares {
    /// Returns whether an organisation may take this much more of the whole room.
    pub(super) fn has_room(&self, organisation: u32, more: usize, room: usize) -> bool {
        let taken = self.taken.get(&organisation).copied().unwrap_or_default() + more;
        let left = room.checked_sub(self.total + more);
        more == 0 || left.is_some_and(|left| taken <= left.saturating_mul(MAX_PER_UNIT_LEFT))
    }

    /// Adds to the room that an organisation takes.
    pub(super) fn take(&mut self, organisation: u32, more: usize) {
        *self.taken.entry(organisation).or_default() += more;
        self.total += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes as much as an organisation may, one by one. Returns how much that is.
    fn fill(shares: &mut Shares, organisation: u32) -> usize {
        let mut taken = 0;
        while shares.has_room(organisation, 1, 10_000) {
            shares.take(organisation, 1);
            taken += 1;
        }
        taken
    }

    #[test]
    fn an_organisation_leaves_room_for_others() {
        let mut shares = Shares::default();
        let taken: Vec<_> = (1..=5).map(|organisation| fill(&mut shares, organisation)).collect();
        assert_eq!(taken, [7_500, 1_875, 468, 117, 30]);
        assert!(shares.has_room(1, 0, 10_000) && !shares.has_room(6, 10, 10_000));
        assert!(!Shares::default().has_room(1, 7_501, 10_000) && !Shares::default().has_room(1, 5, 4));
    }
}
