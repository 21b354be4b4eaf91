//! Counts of the values of each filter under all other filters. A listing that passes all filters counts for every
//! filter. A listing that exactly one filter rejects counts for that filter only.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use strum::VariantNames;

use super::compiled_filters::{Filters, rejected};
use super::interner::NONE;
use super::row::FacetRow;
use crate::listings::attributes::{AdditionalInfo, Sex};
use crate::listings::search::StatusFilter;

/// Counts by number of term. Counts wrap around, so changes can be applied in any order.
pub(crate) trait TermCounts {
    /// Adds to the count of a term.
    fn add(&mut self, term: u32, times: i32);

    /// Returns the terms with a count above zero, without [`NONE`].
    fn counted(&self) -> impl Iterator<Item = (u32, u32)>;
}

/// Counts of all terms, including those of private listings only. For scans over many listings.
#[derive(Debug)]
pub(crate) struct DenseTermCounts(Vec<u32>);

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

/// Counts above zero only. The size does not depend on the number of terms in the index.
#[derive(Debug, Default)]
pub(crate) struct SparseTermCounts(HashMap<u32, u32>);

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

/// The counts of all filters.
#[derive(Debug)]
pub(crate) struct Counts<T> {
    statuses: [u32; 8],
    categories: [u32; 8],
    /// By all flags of a listing together: one increment per listing instead of up to eight.
    sexes: [u32; 256],
    additional_info: [u32; 256],
    /// Breeds and breed types.
    pub(crate) breeds: T,
    /// Breed societies.
    pub(crate) societies: T,
    /// Listings that pass all filters.
    pub(crate) total: u32,
}

impl Counts<DenseTermCounts> {
    /// Creates counts of 0 for terms with numbers below `terms`.
    pub(crate) fn dense(terms: usize) -> Self {
        Self::new(DenseTermCounts(vec![0; terms]), DenseTermCounts(vec![0; terms]))
    }

    /// Converts the counts to the form that is cached.
    pub(crate) fn into_sparse(self) -> Counts<SparseTermCounts> {
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
    /// Creates counts of 0.
    pub(crate) fn sparse() -> Self {
        Self::new(SparseTermCounts::default(), SparseTermCounts::default())
    }

    /// Returns the number of terms with a count above zero.
    pub(crate) fn counted_terms(&self) -> usize {
        self.breeds.0.len() + self.societies.0.len()
    }

    /// Returns the approximate memory use in bytes. A bucket of a hash table has one byte besides its entry, and an
    /// eighth of the buckets is free.
    pub(crate) fn bytes(&self) -> usize {
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

    /// Counts listings once each.
    pub(crate) fn add_all<'a>(
        &mut self,
        listings: impl Iterator<Item = &'a FacetRow>,
        filters: &impl Filters,
    ) {
        for listing in listings {
            self.add(listing, filters, 1);
        }
    }

    /// Counts a listing. `times` is -1 to remove a listing that was counted. Returns `false` if two filters reject the
    /// listing, so that it counts for none.
    #[inline]
    pub(crate) fn add(&mut self, listing: &FacetRow, filters: &impl Filters, times: i32) -> bool {
        let rejected_by = filters.rejected_by(listing);
        if rejected::by_several(rejected_by) {
            return false;
        }
        let add = |count: &mut u32| *count = count.wrapping_add_signed(times);
        // A listing counts for a filter if no other filter rejects it.
        let counts_for = |filter: u8| rejected_by & !filter == 0;
        if rejected_by == 0 {
            add(&mut self.total);
        }
        if counts_for(rejected::STATUS) {
            add(&mut self.statuses[usize::from(listing.status & 7)]);
        }
        if counts_for(rejected::COMMODITY_TYPE) {
            add(&mut self.categories[usize::from(listing.category & 7)]);
        }
        if counts_for(rejected::BREED) {
            self.breeds.add(listing.breed, times);
            if listing.breed_type != listing.breed {
                self.breeds.add(listing.breed_type, times);
            }
        }
        if counts_for(rejected::SOCIETY) {
            self.societies.add(listing.society, times);
        }
        if counts_for(rejected::SEX) {
            add(&mut self.sexes[usize::from(listing.sexes)]);
        }
        if counts_for(rejected::ADDITIONAL_INFO) {
            add(&mut self.additional_info[usize::from(listing.additional_info)]);
        }
        true
    }

    /// Returns the counts of `f:status`.
    pub(crate) fn statuses(&self) -> impl Iterator<Item = (&'static str, u32)> {
        StatusFilter::COUNTED.map(StatusFilter::as_str).into_iter().zip(self.statuses)
    }

    /// Returns the counts of main categories.
    pub(crate) fn categories(&self) -> impl Iterator<Item = (i32, u32)> {
        (0..).zip(self.categories)
    }

    /// Returns the counts of `f:commoditySexes`.
    pub(crate) fn sexes(&self) -> impl Iterator<Item = (&'static str, u32)> {
        Sex::VARIANTS.iter().copied().zip(by_flag(&self.sexes))
    }

    /// Returns the counts of `f:commodityAdditionalInfo`.
    pub(crate) fn additional_info(&self) -> impl Iterator<Item = (&'static str, u32)> {
        AdditionalInfo::VARIANTS.iter().copied().zip(by_flag(&self.additional_info))
    }
}

/// Converts counts by all flags together to counts by single flag.
fn by_flag(counts: &[u32; 256]) -> [u32; 8] {
    let with = |bit: u8| counts.iter().enumerate().filter(move |(flags, _)| *flags >> bit & 1 == 1);
    [0, 1, 2, 3, 4, 5, 6, 7].map(|bit| with(bit).map(|(_, count)| count).sum())
}
