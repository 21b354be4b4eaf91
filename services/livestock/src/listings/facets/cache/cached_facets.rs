//! Cached facets of one combination of filters.

use common::Error;

use crate::categories::Categories;
use crate::listings::facets::compiled_filters::CompiledFilters;
use crate::listings::facets::counts::{Counts, SparseTermCounts};
use crate::listings::facets::exact_filters::ExactFilters;
use crate::listings::facets::index::FacetIndex;
use crate::listings::facets::response::Facets;

/// Changes that the thread of a request may apply. More changes are applied on a blocking thread.
const MAX_INLINE_CHANGES: u64 = 64;
/// Counted terms of facets that the thread of a request may update.
const MAX_INLINE_TERMS: usize = 10_000;

/// The facets of one combination of filters; `None` before they are counted.
#[derive(Debug, Default)]
pub(crate) struct CachedFacets(Option<CountedFacets>);

#[derive(Debug)]
struct CountedFacets {
    filters: CompiledFilters,
    counts: Counts<SparseTermCounts>,
    /// The number of changes of the index that are counted.
    change_count: u64,
    /// The version of the spellings in the response.
    spelling_version: u64,
    /// JSON.
    response: String,
}

impl CachedFacets {
    /// Returns whether the response is up to date, or takes little enough work for the thread of a request.
    pub(crate) fn is_cheap_to_update(&self, index: &FacetIndex) -> bool {
        self.0.as_ref().is_some_and(|facets| {
            let is_small = index.change_count() - facets.change_count <= MAX_INLINE_CHANGES
                && facets.counts.counted_terms() <= MAX_INLINE_TERMS;
            is_small
                || (facets.change_count == index.change_count()
                    && facets.spelling_version == index.spelling_version())
        })
    }

    /// Counts the changes since the last update and returns the response. Returns `None` if the facets must be counted
    /// from scratch, because the index has forgotten some of the changes.
    ///
    /// # Errors
    /// 500 if the facets cannot be serialized.
    pub(crate) fn update(
        &mut self,
        exact: &ExactFilters,
        index: &FacetIndex,
        categories: &Categories,
    ) -> Result<Option<String>, Error> {
        // Taken out, so that an error leaves no partly updated facets.
        let Some(mut facets) = self.0.take() else { return Ok(None) };
        let Some(changes) = index.changes_since(facets.change_count) else { return Ok(None) };
        let mut is_unchanged = facets.spelling_version == index.spelling_version();
        if facets.change_count != index.change_count() {
            facets.filters.extend(exact, &index.texts);
            for (old, new) in changes {
                for (row, times) in old.iter().map(|old| (old, -1)).chain([(new, 1)]) {
                    is_unchanged &= !facets.counts.add(row, &facets.filters, times);
                }
            }
        }
        facets.change_count = index.change_count();
        if !is_unchanged {
            facets.spelling_version = index.spelling_version();
            let spelling = |term| index.spelling(term, facets.filters.private_to());
            facets.response = Facets::new(&facets.counts, categories, spelling).to_json()?;
        }
        Ok(Some(self.0.insert(facets).response.clone()))
    }

    /// Counts from scratch and returns the response.
    ///
    /// # Errors
    /// 500 if the facets cannot be serialized.
    pub(crate) fn count(
        &mut self,
        exact: &ExactFilters,
        index: &FacetIndex,
        categories: &Categories,
    ) -> Result<String, Error> {
        let filters = CompiledFilters::of(exact, &index.texts);
        let counts = index.count_all(&filters);
        let spelling = |term| index.spelling(term, filters.private_to());
        let response = Facets::new(&counts, categories, spelling).to_json()?;
        let facets = CountedFacets {
            filters,
            counts: counts.into_sparse(),
            change_count: index.change_count(),
            spelling_version: index.spelling_version(),
            response,
        };
        Ok(self.0.insert(facets).response.clone())
    }

    /// Returns the approximate heap memory use in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let counted = self.0.as_ref();
        counted
            .map_or(0, |facets| facets.filters.bytes() + facets.counts.bytes() + facets.response.capacity())
    }
}
