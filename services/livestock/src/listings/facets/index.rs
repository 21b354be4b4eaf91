//! The index that facets are counted over: the columns of all listings, 80 bytes for each, and their words.
//!
//! A listing has a slot: its place in the order of ids. Listings are never deleted, and a new one usually has the
//! greatest id, so that it is appended.

use std::borrow::Cow;
use std::collections::HashMap;

use common::Error;
use database::Id;

use super::cache::FacetCache;
use super::counts::{Counts, Facets};
use super::filters::{CompiledFilters, ExactFilters, Measures, SearchFilters, Traits, rejected};
use super::interner::{Interners, UNKNOWN};
use super::model::{BLOCK, Columns, FacetColumns, FacetRow, ListingChanges, PrivateSpelling, StoredMatches};
use super::words::{ListingWords, WordFilter};
use crate::categories::Categories;

/// The cache is cleared instead if more listings change at once.
const MAX_COMPARED_CHANGES: usize = 64;

/// The uses of a term in an organisation's private listings, and the latest spelling if it differs from the term.
#[derive(Debug, Default)]
struct PrivateTerm {
    uses: u32,
    spelling: Option<Box<str>>,
}

/// All listings, the texts that their numbers stand for, and the cache of facets.
#[derive(Debug, Default)]
pub(crate) struct FacetIndex {
    /// In ascending order.
    ids: Vec<Id>,
    columns: Columns,
    measures: Vec<Measures>,
    /// The words that free-text queries compare.
    words: ListingWords,
    texts: Interners,
    /// Public spellings of breeds and societies by number of term.
    spellings: HashMap<u32, Box<str>>,
    /// By number of the organisation and of the term.
    private_terms: HashMap<(u32, u32), PrivateTerm>,
    cache: FacetCache,
}

impl FacetIndex {
    /// Returns the number of listings.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Applies changes of listings.
    pub(crate) fn apply(&mut self, changes: ListingChanges) {
        if changes.rows.len() > MAX_COMPARED_CHANGES {
            self.clear_cache();
        }
        let has_unused_words = changes.rows.iter().fold(false, |found, row| found | self.insert(row));
        if has_unused_words {
            let organisations = &self.columns.organisation;
            self.words.compact(|at| organisations[at]);
        }
        self.add_spellings(changes.spellings);
        self.add_private_spellings(changes.private_spellings);
    }

    /// Completes an index to which all listings were added.
    pub(crate) fn finish_reading(&mut self) {
        self.words.finish_inserting();
    }

    /// Removes all cached facets.
    pub(crate) fn clear_cache(&mut self) {
        self.cache = FacetCache::default();
    }

    /// Adds or replaces a listing. Returns `true` if many words are no longer used.
    fn insert(&mut self, columns: &FacetColumns) -> bool {
        let new = self.acquire(columns);
        let (measures, text) = (Measures::of(columns), columns.search_text.as_deref());
        match self.ids.binary_search(&columns.id) {
            Ok(at) => {
                let old = self.columns.row(at);
                if old != new {
                    self.remove_cached(&[old, new]);
                }
                self.columns.replace(at, new);
                self.measures[at] = measures;
                self.release(old);
                self.words.replace(at, columns.id, new.organisation, text)
            }
            Err(at) => {
                self.remove_cached(&[new]);
                self.ids.insert(at, columns.id);
                self.columns.insert(at, new);
                self.measures.insert(at, measures);
                self.words.insert(at, columns.id, new.organisation, text);
                false
            }
        }
    }

    /// Converts the columns of a listing. Its texts are used once more.
    fn acquire(&mut self, columns: &FacetColumns) -> FacetRow {
        let texts = &mut self.texts;
        let mut term = |text: &Option<String>| texts.terms.acquire(text.as_deref().unwrap_or_default());
        let row = FacetRow {
            breed: term(&columns.breed),
            breed_type: term(&columns.breed_type),
            society: term(&columns.breed_society),
            organisation: texts.organisations.acquire(&columns.organisation_id),
            types: texts.types.acquire(&columns.types),
            ..FacetRow::without_texts(columns)
        };
        if row.is_private() {
            for term in [row.breed, row.breed_type, row.society] {
                self.private_terms.entry((row.organisation, term)).or_default().uses += 1;
            }
        }
        row
    }

    /// Frees the texts of a listing that no other uses.
    fn release(&mut self, row: FacetRow) {
        for term in [row.breed, row.breed_type, row.society] {
            let key = (row.organisation, term);
            if row.is_private()
                && let Some(private) = self.private_terms.get_mut(&key)
            {
                private.uses -= 1;
                if private.uses == 0 {
                    self.private_terms.remove(&key);
                }
            }
            if self.texts.terms.release(term) {
                self.spellings.remove(&term);
            }
        }
        self.texts.types.release(row.types);
        self.texts.organisations.release(row.organisation);
    }

    /// Removes the cached facets that count one of the states of a listing. Facets count those that pass all filters
    /// but one.
    fn remove_cached(&mut self, rows: &[FacetRow]) {
        let texts = &self.texts;
        let is_counted = |exact: &ExactFilters, row: &FacetRow| {
            let traits = Traits {
                row: *row,
                organisation: texts.organisations.get(row.organisation).unwrap_or_default(),
                breed: texts.terms.get(row.breed),
                breed_type: texts.terms.get(row.breed_type),
                society: texts.terms.get(row.society),
                has_type: &|name| texts.types.contains(row.types, name),
            };
            !rejected::by_several(exact.rejected_by(&traits))
        };
        self.cache.remove_if(|exact| rows.iter().any(|row| is_counted(exact, row)));
    }

    /// Adds public spellings by term. Ignores terms that no listing has: their spellings are read again with the first
    /// listing that has them.
    pub(crate) fn add_spellings(&mut self, spellings: Vec<(String, String)>) {
        for (term, spelling) in spellings {
            let number = self.texts.terms.find(&term);
            if number == UNKNOWN {
                continue;
            }
            let old = self.spellings.get(&number);
            if old.is_some_and(|old| **old == *spelling) {
                continue;
            }
            // Until now, only searches for private listings found the term, without the listing that it comes with.
            let is_first = old.is_none();
            self.cache.remove_if(|exact| !is_first || exact.finds_private());
            self.spellings.insert(number, spelling.into());
        }
    }

    /// Adds spellings of private listings. The latest spelling of a term in an organisation replaces earlier ones,
    /// because drafts can be edited.
    fn add_private_spellings(&mut self, spellings: Vec<PrivateSpelling>) {
        for PrivateSpelling { organisation_id, term, spelling } in spellings {
            let key = (self.texts.organisations.find(&organisation_id), self.texts.terms.find(&term));
            let Some(private) = self.private_terms.get_mut(&key) else { continue };
            let new = (spelling != term).then_some(&*spelling);
            if private.spelling.as_deref() != new {
                private.spelling = new.map(Into::into);
                self.cache.remove_if(|exact| exact.private_to.as_ref() == Some(&organisation_id));
            }
        }
    }

    /// Returns the public spelling of a breed or society, else that of an organisation's private listings, else the
    /// term in lower case.
    fn spelling(&self, term: u32, private_to: Option<u32>) -> Option<Cow<'_, str>> {
        let private = || self.private_terms.get(&(private_to?, term))?.spelling.as_ref();
        let spelling = self.spellings.get(&term).or_else(private).map(|spelling| &**spelling);
        spelling.or_else(|| self.texts.terms.get(term)).map(Cow::Borrowed)
    }

    /// Returns the facets of a search as JSON if they are cached. Never blocks.
    pub(crate) fn cached(&self, filters: &SearchFilters) -> Option<String> {
        self.cache.get(&filters.exact)
    }

    /// Returns the facets of a search as JSON. `stored` is what the database knows of it.
    ///
    /// Facets of searches with range filters, words or a wishlist are not cached: there are too many different ones.
    ///
    /// # Errors
    /// 500 if the facets cannot be serialized.
    pub(crate) fn facets(
        &self,
        filters: &SearchFilters,
        stored: &StoredMatches,
        categories: &Categories,
    ) -> Result<String, Error> {
        let count = || {
            let compiled = CompiledFilters::of(&filters.exact, &self.texts);
            let counts = self.count(filters, &compiled, stored);
            Facets::new(&counts, categories, |term| self.spelling(term, compiled.private_to)).to_json()
        };
        if filters.is_cached() && stored.wishlist.is_none() {
            return self.cache.get_or_count(&filters.exact, count);
        }
        count()
    }

    /// Counts the listings of a search.
    fn count(&self, filters: &SearchFilters, compiled: &CompiledFilters, stored: &StoredMatches) -> Counts {
        let mut counts = Counts::new(self.texts.terms.len());
        let words = self.words.filter(&filters.words, filters.audience, &stored.long_texts);
        let mut bits = [0; BLOCK];
        let mut count_block = |start: usize, len: usize| {
            let bits = &mut bits[..len];
            compiled.reject(&self.columns, start..start + len, bits);
            if !filters.is_cached() {
                for (at, bits) in (start..).zip(bits.iter_mut()) {
                    if !rejected::by_several(*bits) && !self.passes(at, filters, words.as_ref()) {
                        *bits = rejected::BY_ALL;
                    }
                }
            }
            counts.add(&self.columns, start, bits, compiled.present);
        };
        if let Some(ids) = &stored.wishlist {
            let slots = ids.iter().filter_map(|id| self.ids.binary_search(id).ok());
            slots.for_each(|at| count_block(at, 1));
        } else {
            let starts = (0..self.len()).step_by(BLOCK);
            starts.for_each(|start| count_block(start, BLOCK.min(self.len() - start)));
        }
        counts
    }

    /// Returns whether the listing in a slot passes range filters and has all words of a query.
    #[inline]
    fn passes(&self, at: usize, filters: &SearchFilters, words: Option<&WordFilter<'_>>) -> bool {
        filters.ranges.as_ref().is_none_or(|ranges| ranges.passes(&self.measures[at]))
            && words.is_none_or(|words| words.passes(at, self.ids[at]))
    }

    /// Returns the listings that a search for words may find: those that have the words, and those whose texts the
    /// database must compare. `None` if they are more than `max`. Drafts of all organisations are among them.
    pub(crate) fn candidates(&self, filters: &SearchFilters, max: usize) -> Option<Vec<Id>> {
        let exact = ExactFilters { private_to: None, ..filters.exact.clone() };
        let compiled = CompiledFilters::of(&exact, &self.texts);
        let may_be_found = |at: usize| self.rejected_by(at, &compiled) == 0 && self.passes(at, filters, None);
        let long_texts = self.long_texts(may_be_found).take(max + 1).collect();
        let words = self.words.filter(&filters.words, filters.audience, &long_texts)?;
        let ids = self.ids.iter().enumerate();
        let ids = ids.filter(|(at, id)| words.passes(*at, **id) && may_be_found(*at));
        let ids: Vec<_> = ids.map(|(_, id)| *id).take(max + 1).collect();
        (ids.len() <= max).then_some(ids)
    }

    /// Returns the listings whose texts the database must compare with the words of a query, in ascending order.
    /// Without those that count for no filter, whatever their texts: most drafts and cancelled listings.
    pub(crate) fn counted_long_texts(&self, filters: &SearchFilters) -> Vec<Id> {
        let compiled = CompiledFilters::of(&filters.exact, &self.texts);
        let may_count = |at: usize| {
            !rejected::by_several(self.rejected_by(at, &compiled)) && self.passes(at, filters, None)
        };
        self.long_texts(may_count).collect()
    }

    /// Returns the bits of the filters that reject the listing in a slot.
    fn rejected_by(&self, at: usize, compiled: &CompiledFilters) -> u8 {
        let mut bits = [0];
        compiled.reject(&self.columns, at..at + 1, &mut bits);
        bits[0]
    }

    /// Returns those of the listings with long texts whose slots meet a condition.
    fn long_texts(&self, condition: impl Fn(usize) -> bool) -> impl Iterator<Item = Id> {
        let ids = self.words.long_texts().iter().copied();
        ids.filter(move |id| self.ids.binary_search(id).is_ok_and(&condition))
    }

    /// Returns the numbers of texts and spellings, for tests.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> [usize; 3] {
        [self.texts.terms.len(), self.spellings.len(), self.private_terms.len()]
    }
}
