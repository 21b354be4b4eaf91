//! Counting, each filter's values under all the other filters: a listing that all let pass counts for every filter, one
//! that a single filter keeps out counts for that one.

use super::super::search::StatusFilter;
use super::super::terms::{AdditionalInfo, Sex};
use super::index::{Entry, Index};
use super::terms::NONE;

/// Which filters let a listing pass: status, type, breed, society, sexes, additional info.
pub struct Groups(pub [bool; 6]);

/// What was counted.
#[derive(Debug)]
pub struct Counts {
    statuses: [u32; 4],
    categories: [u32; 256],
    breeds: Vec<u32>,
    societies: Vec<u32>,
    sexes: [u32; 8],
    additional_info: [u32; 6],
    pub total: u32,
}

impl Counts {
    /// Of so many terms.
    pub fn new(terms: usize) -> Self {
        Self {
            statuses: [0; 4],
            categories: [0; 256],
            breeds: vec![0; terms],
            societies: vec![0; terms],
            sexes: [0; 8],
            additional_info: [0; 6],
            total: 0,
        }
    }

    /// Counts a listing.
    pub fn add(&mut self, entry: &Entry, Groups(pass): Groups) {
        let stopped = pass.iter().filter(|pass| !**pass).count();
        self.total += u32::from(stopped == 0);
        if stopped > 1 {
            return;
        }
        // For a filter it counts if no other one stops it.
        let [status, kind, breed, society, sex, info] = pass.map(|pass| stopped == 0 || !pass);
        if status {
            self.statuses[usize::from(entry.status)] += 1;
        }
        if kind {
            self.categories[usize::from(entry.category)] += 1;
        }
        if breed {
            self.breeds[entry.breed as usize] += 1;
            if entry.breed_type != entry.breed {
                self.breeds[entry.breed_type as usize] += 1;
            }
        }
        if society {
            self.societies[entry.society as usize] += 1;
        }
        if sex {
            add_flags(&mut self.sexes, entry.sexes);
        }
        if info {
            add_flags(&mut self.additional_info, entry.additional_info);
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

    /// Breeds and breed types, as they are written in this table.
    pub fn breeds(&self, index: &Index) -> Vec<(String, u32)> {
        spelled(&self.breeds, index)
    }

    /// Breed societies, likewise.
    pub fn societies(&self, index: &Index) -> Vec<(String, u32)> {
        spelled(&self.societies, index)
    }
}

fn add_flags(counts: &mut [u32], flags: u8) {
    for (bit, count) in counts.iter_mut().enumerate() {
        *count += u32::from(flags >> bit & 1);
    }
}

fn spelled(counts: &[u32], index: &Index) -> Vec<(String, u32)> {
    let counted = (NONE..).zip(counts).skip(1).filter(|(_, count)| **count > 0);
    counted.filter_map(|(term, count)| Some((index.spelling(term)?.to_owned(), *count))).collect()
}
