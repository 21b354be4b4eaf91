//! Counting, each filter's values under all the other filters: a listing that all let pass counts for every filter, one
//! that a single filter keeps out counts for that one.

use super::super::search::StatusFilter;
use super::super::terms::{AdditionalInfo, Sex};
use super::exact::stop;
use super::index::Traits;

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    statuses: [u32; 8],
    categories: [u32; 8],
    sexes: [u32; 8],
    additional_info: [u32; 8],
    /// Breeds and breed types by the numbers of their terms, and how many they are there.
    pub breeds: Vec<u32>,
    pub societies: Vec<u32>,
    pub total: u32,
}

impl Counts {
    /// Makes room for so many terms.
    pub fn learn(&mut self, terms: usize) {
        self.breeds.resize(terms, 0);
        self.societies.resize(terms, 0);
    }

    /// False of a listing that two filters stop: it counts nowhere.
    pub fn counts(stopped: u8) -> bool {
        stopped & stopped.wrapping_sub(1) == 0
    }

    /// Counts a listing that at most one filter stops; -1 times, if it was counted and is no more.
    pub fn add(&mut self, listing: &Traits, stopped: u8, times: i32) {
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
            add_flags(&mut self.sexes, listing.sexes, times);
        }
        if counts_for(stop::INFO) {
            add_flags(&mut self.additional_info, listing.additional_info, times);
        }
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
        Sex::ALL.map(Sex::as_str).into_iter().zip(self.sexes)
    }

    /// Values of `f:commodityAdditionalInfo`.
    pub fn additional_info(&self) -> impl Iterator<Item = (&'static str, u32)> {
        AdditionalInfo::ALL.map(AdditionalInfo::as_str).into_iter().zip(self.additional_info)
    }

    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + (self.breeds.capacity() + self.societies.capacity()) * size_of::<u32>()
    }
}

fn add_flags(counts: &mut [u32; 8], flags: u8, times: i32) {
    for (bit, count) in counts.iter_mut().enumerate() {
        *count = count.wrapping_add_signed(i32::from(flags >> bit & 1) * times);
    }
}
