//! Counting, each filter's values under all the other filters: a listing that all let pass counts for every filter, one
//! that a single filter keeps out counts for that one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::super::search::StatusFilter;
use super::super::terms::{AdditionalInfo, Sex};
use super::exact::{Filters, stop};
use super::index::FacetRow;
use super::terms::NONE;

/// Counts by the numbers of terms. Counts wrap, so changes can be applied in any order.
pub trait TermCounts {
    /// Adds to the count of a term.
    fn add(&mut self, term: u32, times: i32);

    /// Returns the terms whose count is above zero, without [`NONE`].
    fn counted(&self) -> impl Iterator<Item = (u32, u32)>;
}

/// Counts of all terms, including those that only private listings have. For scans over many listings.
#[derive(Debug)]
pub struct DenseTermCounts(Vec<u32>);

impl TermCounts for DenseTermCounts {
    #[inline]
    fn add(&mut self, term: u32, times: i32) {
        let count = &mut self.0[term as usize];
        *count = count.wrapping_add_signed(times);
    }

    fn counted(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(self.0.iter().copied()).skip(1).filter(|(_, count)| *count > 0)
    }
}

/// Counts above zero only: as large as what was counted, however many terms there are.
#[derive(Debug, Default)]
pub struct SparseTermCounts(HashMap<u32, u32>);

impl TermCounts for SparseTermCounts {
    fn add(&mut self, term: u32, times: i32) {
        if term == NONE {
            return;
        }
        match self.0.entry(term) {
            Entry::Occupied(mut entry) => match entry.get().wrapping_add_signed(times) {
                0 => {
                    entry.remove();
                }
                count => {
                    entry.insert(count);
                }
            },
            Entry::Vacant(entry) => {
                entry.insert(0_u32.wrapping_add_signed(times));
            }
        }
    }

    fn counted(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().map(|(term, count)| (*term, *count))
    }
}

impl From<DenseTermCounts> for SparseTermCounts {
    fn from(dense: DenseTermCounts) -> Self {
        let mut counts = HashMap::with_capacity(dense.counted().count());
        counts.extend(dense.counted());
        Self(counts)
    }
}

/// What was counted.
#[derive(Debug)]
pub struct Counts<T> {
    statuses: [u32; 8],
    categories: [u32; 8],
    /// By all flags of a listing together: one count each instead of eight.
    sexes: [u32; 256],
    additional_info: [u32; 256],
    /// Breeds and breed types.
    pub breeds: T,
    pub societies: T,
    pub total: u32,
}

impl Counts<DenseTermCounts> {
    /// Nothing yet, of so many terms.
    pub fn dense(terms: usize) -> Self {
        Self::new(DenseTermCounts(vec![0; terms]), DenseTermCounts(vec![0; terms]))
    }

    /// Returns the same counts in the form that is kept.
    pub fn into_sparse(self) -> Counts<SparseTermCounts> {
        Counts {
            statuses: self.statuses,
            categories: self.categories,
            sexes: self.sexes,
            additional_info: self.additional_info,
            breeds: self.breeds.into(),
            societies: self.societies.into(),
            total: self.total,
        }
    }
}

impl Counts<SparseTermCounts> {
    /// Nothing yet.
    pub fn sparse() -> Self {
        Self::new(SparseTermCounts::default(), SparseTermCounts::default())
    }

    /// How many values of breeds and societies are counted.
    pub fn counted_terms(&self) -> usize {
        self.breeds.0.len() + self.societies.0.len()
    }

    /// How much memory it takes, about: a bucket of a hash table has a byte besides its entry, and some are free.
    pub fn bytes(&self) -> usize {
        let buckets = self.breeds.0.capacity() + self.societies.0.capacity();
        size_of::<Self>() + buckets * (size_of::<(u32, u32)>() + 1) / 7 * 8
    }
}

impl<T: TermCounts> Counts<T> {
    fn new(breeds: T, societies: T) -> Self {
        Self {
            statuses: [0; 8],
            categories: [0; 8],
            sexes: [0; 256],
            additional_info: [0; 256],
            breeds,
            societies,
            total: 0,
        }
    }

    /// Counts those of these listings that count somewhere.
    pub fn add_all<'a>(&mut self, listings: impl Iterator<Item = &'a FacetRow>, filters: &impl Filters) {
        for listing in listings {
            self.add(listing, filters, 1);
        }
    }

    /// Counts a listing; -1 times, if it was counted and is no more. False if two filters stop it: it counts nowhere.
    #[inline]
    pub fn add(&mut self, listing: &FacetRow, filters: &impl Filters, times: i32) -> bool {
        let stopped = filters.stop(listing);
        if stopped & stopped.wrapping_sub(1) != 0 {
            return false;
        }
        let add = |count: &mut u32| *count = count.wrapping_add_signed(times);
        // For a filter it counts if no other one stops it.
        let counts_for = |filter: u8| stopped & !filter == 0;
        if stopped == 0 {
            add(&mut self.total);
        }
        if counts_for(stop::STATUS) {
            add(&mut self.statuses[usize::from(listing.status & 7)]);
        }
        if counts_for(stop::KIND) {
            add(&mut self.categories[usize::from(listing.category & 7)]);
        }
        if counts_for(stop::BREED) {
            self.breeds.add(listing.breed, times);
            if listing.breed_type != listing.breed {
                self.breeds.add(listing.breed_type, times);
            }
        }
        if counts_for(stop::SOCIETY) {
            self.societies.add(listing.society, times);
        }
        if counts_for(stop::SEX) {
            add(&mut self.sexes[usize::from(listing.sexes)]);
        }
        if counts_for(stop::INFO) {
            add(&mut self.additional_info[usize::from(listing.additional_info)]);
        }
        true
    }

    /// Values of `f:status`.
    pub fn statuses(&self) -> impl Iterator<Item = (&'static str, u32)> {
        StatusFilter::COUNTED.map(StatusFilter::as_str).into_iter().zip(self.statuses)
    }

    /// Main categories.
    pub fn categories(&self) -> impl Iterator<Item = (i32, u32)> {
        (0..).zip(self.categories)
    }

    /// Values of `f:commoditySexes`.
    pub fn sexes(&self) -> impl Iterator<Item = (&'static str, u32)> {
        Sex::ALL.map(Sex::as_str).into_iter().zip(by_flag(&self.sexes))
    }

    /// Values of `f:commodityAdditionalInfo`.
    pub fn additional_info(&self) -> impl Iterator<Item = (&'static str, u32)> {
        AdditionalInfo::ALL.map(AdditionalInfo::as_str).into_iter().zip(by_flag(&self.additional_info))
    }
}

/// What each flag counts, of counts by all flags together.
fn by_flag(counts: &[u32; 256]) -> [u32; 8] {
    let with = |bit: u8| counts.iter().enumerate().filter(move |(flags, _)| *flags >> bit & 1 == 1);
    [0, 1, 2, 3, 4, 5, 6, 7].map(|bit| with(bit).map(|(_, count)| count).sum())
}
