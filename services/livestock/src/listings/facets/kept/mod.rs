//! Counts that are kept: a combination of filters that was asked for is not counted again. The changes since are counted
//! when it is asked for the next time, so a change costs nothing, however much is kept; and its answer is written again
//! only if one of them was of something that it counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use common::Error;

use super::Facets;
use super::count::{Counts, SparseTermCounts};
use super::exact::{ExactFilters, Masks};
use super::index::Index;
use crate::categories::Categories;

/// So many combinations are kept, those asked for last.
const MOST: usize = 1_024;
/// So many bytes they may take, about; none a quarter of that.
const MOST_BYTES: usize = 16 << 20;
/// What is brought up to date there and then: more goes to a thread, as counting does.
const FEW_CHANGES: u64 = 64;
const FEW_TERMS: usize = 10_000;

/// A combination of filters.
#[derive(Debug, Default)]
struct CachedFacets(Option<Counted>);

/// What was counted for it.
#[derive(Debug)]
struct Counted {
    masks: Masks,
    counts: Counts<SparseTermCounts>,
    /// How many changes of listings it has, and of spellings.
    changed: u64,
    spelt: u64,
    answer: String,
}

impl CachedFacets {
    /// True if the answer is at hand, or takes little to be brought up to date: no more than may be done between requests.
    fn is_near(&self, index: &Index) -> bool {
        self.0.as_ref().is_some_and(|kept| {
            let small =
                index.changed() - kept.changed <= FEW_CHANGES && kept.counts.counted_terms() <= FEW_TERMS;
            small || (kept.changed == index.changed() && kept.spelt == index.spelt)
        })
    }

    /// The answer. Nothing if the changes since are forgotten: then all must be counted.
    fn known(
        &mut self,
        exact: &ExactFilters,
        index: &Index,
        categories: &Categories,
    ) -> Result<Option<String>, Error> {
        // Taken out, so that nothing is left of what fails.
        let Some(mut kept) = self.0.take() else { return Ok(None) };
        let Some(changes) = index.since(kept.changed) else { return Ok(None) };
        let mut same = kept.spelt == index.spelt;
        if kept.changed != index.changed() {
            kept.masks.extend(exact, &index.texts);
            for (before, now) in changes {
                for (listing, times) in before.iter().map(|before| (before, -1)).chain([(now, 1)]) {
                    same &= !kept.counts.add(listing, &kept.masks, times);
                }
            }
        }
        kept.changed = index.changed();
        if !same {
            kept.spelt = index.spelt;
            kept.answer = Facets::of(&kept.counts, &kept.masks, index, categories).json()?;
        }
        Ok(Some(self.0.insert(kept).answer.clone()))
    }

    fn count(
        &mut self,
        exact: &ExactFilters,
        index: &Index,
        categories: &Categories,
    ) -> Result<String, Error> {
        let masks = Masks::of(exact, &index.texts);
        let counts = index.count_all(&masks);
        let answer = Facets::of(&counts, &masks, index, categories).json()?;
        let counts = counts.into_sparse();
        let (changed, spelt) = (index.changed(), index.spelt);
        Ok(self.0.insert(Counted { masks, counts, changed, spelt, answer }).answer.clone())
    }

    fn bytes(&self) -> usize {
        let counted = self.0.as_ref();
        counted.map_or(0, |kept| kept.masks.bytes() + kept.counts.bytes() + kept.answer.capacity())
    }
}

/// What is kept.
#[derive(Debug, Default)]
pub struct FacetCache(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    by_filters: HashMap<ExactFilters, EventCursor>,
    /// How often something was asked for.
    asked: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct EventCursor {
    kept: Arc<Mutex<CachedFacets>>,
    asked: u64,
    bytes: usize,
}

impl FacetCache {
    /// The answer, unless it must be counted or others are at it.
    pub fn known(
        &self,
        exact: &ExactFilters,
        index: &Index,
        categories: &Categories,
    ) -> Result<Option<String>, Error> {
        let Some(kept) = lock(&self.0).find(exact) else { return Ok(None) };
        let Ok(mut kept) = kept.try_lock() else { return Ok(None) };
        if !kept.is_near(index) {
            return Ok(None);
        }
        let known = kept.known(exact, index, categories);
        lock(&self.0).weigh(exact, kept.bytes());
        known
    }

    /// The answer; those who ask for the same at once wait for one count.
    pub fn facets(
        &self,
        exact: ExactFilters,
        index: &Index,
        categories: &Categories,
    ) -> Result<String, Error> {
        let kept = lock(&self.0).find_or_make(&exact);
        let mut kept = lock(&kept);
        let answer = match kept.known(&exact, index, categories)? {
            Some(answer) => answer,
            None => kept.count(&exact, index, categories)?,
        };
        lock(&self.0).weigh(&exact, kept.bytes());
        Ok(answer)
    }
}

impl Places {
    fn find(&mut self, exact: &ExactFilters) -> Option<Arc<Mutex<CachedFacets>>> {
        self.asked += 1;
        let place = self.by_filters.get_mut(exact)?;
        place.asked = self.asked;
        Some(place.kept.clone())
    }

    fn find_or_make(&mut self, exact: &ExactFilters) -> Arc<Mutex<CachedFacets>> {
        if let Some(kept) = self.find(exact) {
            return kept;
        }
        let place = EventCursor { asked: self.asked, ..EventCursor::default() };
        let kept = place.kept.clone();
        self.by_filters.insert(exact.clone(), place);
        kept
    }

    /// Takes how much memory is taken here now, and drops what was not asked for longest if that is too much in all.
    fn weigh(&mut self, exact: &ExactFilters, bytes: usize) {
        let Some(place) = self.by_filters.get_mut(exact) else { return };
        let bytes = bytes + exact.bytes();
        self.bytes = self.bytes - place.bytes + bytes;
        place.bytes = bytes;
        if bytes > MOST_BYTES / 4 {
            self.drop(exact);
        }
        while self.by_filters.len() > MOST || self.bytes > MOST_BYTES {
            let oldest = self.by_filters.iter().min_by_key(|(_, place)| place.asked);
            let Some(oldest) = oldest.map(|(exact, _)| exact.clone()) else { return };
            self.drop(&oldest);
        }
    }

    fn drop(&mut self, exact: &ExactFilters) {
        if let Some(place) = self.by_filters.remove(exact) {
            self.bytes -= place.bytes;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
