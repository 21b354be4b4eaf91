//! The index of saved searches: from a listing to the searches that find it.
//!
//! Each search is listed under its [terms](terms_of_search). A listing is compared with the searches that are listed
//! under its terms, by all their filters.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use database::{Id, Timestamp};

use super::model::{ListingToMatch, SearchMatch, terms_of_listing, terms_of_search};
use crate::listings::{ListingSearch, SearchFilters, SingleListingMatcher, day};

/// A search in the index.
#[derive(Debug)]
struct IndexedSearch {
    id: Id,
    version: i64,
    /// Events with smaller positions are older than the search.
    matches_from: i64,
    /// The user whose wishlist the search is limited to.
    wishlist_of: Option<Box<str>>,
    filters: SearchFilters,
    /// The hashes of its terms.
    terms: Box<[u64]>,
}

/// A search to add.
#[derive(Debug)]
pub(crate) struct NewSearch<'a> {
    pub(crate) id: Id,
    pub(crate) user_id: &'a str,
    pub(crate) version: i64,
    pub(crate) matches_from: i64,
    pub(crate) search: &'a ListingSearch,
}

/// The searches by their terms.
#[derive(Debug, Default)]
pub(crate) struct SearchIndex {
    /// The key of the hashes, so that clients cannot choose terms that collide.
    key: RandomState,
    /// `None`: free.
    slots: Vec<Option<IndexedSearch>>,
    free: Vec<u32>,
    by_id: HashMap<Id, u32>,
    /// The slots of the searches with a term, by its hash.
    by_term: HashMap<u64, Vec<u32>>,
    /// The [`day`] that dogs' ages are computed for.
    day: i64,
}

impl SearchIndex {
    /// Adds or replaces a search. A search that finds no active listing is only removed. The column `index_bytes` of
    /// the stored searches limits the memory of all.
    pub(crate) fn insert(&mut self, new: &NewSearch<'_>) {
        self.remove(new.id);
        let Some(filters) = SearchFilters::of(new.search) else { return };
        let mut terms: Vec<u64> =
            terms_of_search(new.search).into_iter().map(|term| self.key.hash_one(term)).collect();
        terms.sort_unstable();
        terms.dedup();
        let search = IndexedSearch {
            id: new.id,
            version: new.version,
            matches_from: new.matches_from,
            wishlist_of: new.search.wishlisted.then(|| new.user_id.into()),
            filters,
            terms: terms.into(),
        };
        if day(new.search.now) != self.day {
            // The next `set_now` changes all filters.
            self.day = 0;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        for term in &search.terms {
            self.by_term.entry(*term).or_default().push(slot);
        }
        self.by_id.insert(new.id, slot);
        self.slots[slot as usize] = Some(search);
    }

    /// Removes a search, if it is there.
    pub(crate) fn remove(&mut self, id: Id) {
        let Some(slot) = self.by_id.remove(&id) else { return };
        let Some(search) = self.slots[slot as usize].take() else { return };
        for term in &search.terms {
            if let Some(slots) = self.by_term.get_mut(term) {
                slots.retain(|other| *other != slot);
                if slots.is_empty() {
                    self.by_term.remove(term);
                }
            }
        }
        self.free.push(slot);
    }

    /// Returns the number of searches.
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Changes the time that dogs' ages are computed for.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        let day = day(now);
        if self.day != day {
            self.slots.iter_mut().flatten().for_each(|search| search.filters.set_now(now));
            self.day = day;
        }
    }

    /// Returns the searches that find a listing and are not newer than its event, in the order of their ids. The
    /// wishlists are not compared.
    pub(crate) fn matches(&self, listing: &ListingToMatch, position: i64) -> Vec<SearchMatch> {
        let one = SingleListingMatcher::of(&listing.columns);
        let mut found: Vec<&IndexedSearch> = self
            .candidates(listing)
            .filter(|search| search.matches_from <= position && one.passes(&search.filters))
            .collect();
        // A search is listed under each of its breeds, and a listing may have two.
        found.sort_unstable_by_key(|search| search.id);
        found.dedup_by_key(|search| search.id);
        let found = found.into_iter().map(|search| SearchMatch {
            id: search.id,
            version: search.version,
            wishlist_of: search.wishlist_of.clone(),
        });
        found.collect()
    }

    /// Returns the searches that have a term of the listing.
    fn candidates<'a>(&'a self, listing: &ListingToMatch) -> impl Iterator<Item = &'a IndexedSearch> {
        let hashes: Vec<_> =
            terms_of_listing(listing).into_iter().map(|term| self.key.hash_one(term)).collect();
        let slots = hashes.into_iter().filter_map(|term| self.by_term.get(&term)).flatten();
        slots.filter_map(|slot| self.slots[*slot as usize].as_ref())
    }

    /// Returns how many searches are compared with a listing.
    #[cfg(test)]
    pub(crate) fn candidate_count(&self, listing: &ListingToMatch) -> usize {
        self.candidates(listing).count()
    }
}
