//! Counting, each filter's values under all the other filters: a listing that all let pass counts for every filter, one
//! that a single filter keeps out counts for that one.

use super::super::search::StatusFilter;
use super::super::terms::{AdditionalInfo, Sex};
use super::exact::{Masks, stop};
use super::index::Traits;

/// What was counted.
#[derive(Debug)]
pub struct Counts {
    statuses: [u32; 8],
    categories: [u32; 8],
    /// By all flags of a listing together: one count each instead of eight.
    sexes: [u32; 256],
    additional_info: [u32; 256],
    /// Breeds and breed types by the numbers of their terms, and how many they are there.
    pub breeds: Vec<u32>,
    pub societies: Vec<u32>,
    pub total: u32,
}

impl Counts {
    /// Nothing yet, of so many terms.
    pub fn new(terms: usize) -> Self {
        Self {
            statuses: [0; 8],
            categories: [0; 8],
            sexes: [0; 256],
            additional_info: [0; 256],
            breeds: vec![0; terms],
            societies: vec![0; terms],
            total: 0,
        }
    }

    /// Makes room for so many terms.
    pub fn learn(&mut self, terms: usize) {
        self.breeds.resize(terms, 0);
        self.societies.resize(terms, 0);
    }

    /// Counts those of these listings that count somewhere.
    pub fn add_all<'a>(&mut self, listings: impl Iterator<Item = &'a Traits>, masks: &Masks) {
        for listing in listings {
            self.add(listing, masks, 1);
        }
    }

    /// Counts a listing; -1 times, if it was counted and is no more. False if two filters stop it: it counts nowhere.
    #[inline]
    pub fn add(&mut self, listing: &Traits, masks: &Masks, times: i32) -> bool {
        let stopped = masks.stop(listing);
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
            add(&mut self.breeds[listing.breed as usize]);
            if listing.breed_type != listing.breed {
                add(&mut self.breeds[listing.breed_type as usize]);
            }
        }
        if counts_for(stop::SOCIETY) {
            add(&mut self.societies[listing.society as usize]);
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

    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + (self.breeds.capacity() + self.societies.capacity()) * size_of::<u32>()
    }
}

/// What each flag counts, of counts by all flags together.
fn by_flag(counts: &[u32; 256]) -> [u32; 8] {
    let with = |bit: u8| counts.iter().enumerate().filter(move |(flags, _)| *flags >> bit & 1 == 1);
    [0, 1, 2, 3, 4, 5, 6, 7].map(|bit| with(bit).map(|(_, count)| count).sum())
}
