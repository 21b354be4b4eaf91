//! The index that facets are counted over: the columns of all listings, 120 bytes for each, and their words.
//!
//! A listing has a slot: its place in the order of ids. Listings are never deleted, and a new one usually has the
//! greatest id, so that it is appended.

use std::collections::{BTreeSet, HashMap, HashSet};

use common::Error;
use database::Id;

use super::cache::FacetCache;
use super::columns::{Ages, Columns, Place, PriceRange, Texts};
use super::counts::{BLOCK, Cells, Counts, Facets, MapCounts};
use super::filters::{CompiledFilters, ExactFilters, SearchFilters, rejected};
use super::model::{FacetColumns, ListingChanges, Spelling, StoredMatches};
use super::words::{ListingWords, WordFilter};
use crate::categories::Categories;
use crate::listings::geo::MapPoint;
use crate::listings::search::{Audience, Candidates};

/// Unused texts and words are removed when edits have added half of all and this many more.
const MAX_ADDED_TEXTS: usize = if cfg!(test) { 2 } else { 10_000 };

/// All listings, the texts that their numbers stand for, and the cache of facets.
#[derive(Debug, Default)]
pub(crate) struct FacetIndex {
    /// In ascending order.
    ids: Vec<Id>,
    columns: Columns,
    ages: Vec<Ages>,
    places: Vec<Place>,
    /// The [`MapPoint`] of each listing, in two arrays, so that boxes are found fast.
    map_x: Vec<u32>,
    map_y: Vec<u32>,
    prices: Vec<PriceRange>,
    /// The words that free-text queries compare.
    words: ListingWords,
    texts: Texts,
    /// Spellings of breeds and societies by number of the organisation, which public ones do not have, and of the term.
    spellings: HashMap<(Option<u32>, u32), Box<str>>,
    /// Texts and words that edits have added since unused ones were removed. Some of those before them are unused.
    added_texts: usize,
    cache: FacetCache,
}

impl FacetIndex {
    /// Returns the number of listings.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Applies changes of listings.
    pub(crate) fn apply(&mut self, changes: ListingChanges) {
        changes.rows.iter().for_each(|row| self.insert(row));
        self.add_spellings(changes.spellings);
        if self.added_texts > self.text_count() / 2 + MAX_ADDED_TEXTS {
            self.remove_unused_texts();
        }
    }

    /// Sets the suspended organisations.
    pub(crate) fn set_suspended(&mut self, suspended: BTreeSet<String>) {
        self.texts.suspended = suspended;
        self.cache.clear();
    }

    /// Removes all cached facets.
    pub(crate) fn clear_cache(&mut self) {
        self.cache.clear();
    }

    /// Adds or replaces a listing.
    fn insert(&mut self, columns: &FacetColumns) {
        let texts_before = self.text_count();
        let (new, ages) = (self.texts.row(columns), Ages::of(columns));
        let (place, MapPoint { x, y }) = Place::of(columns);
        let prices = PriceRange::of(columns, &mut self.texts);
        let text = columns.search_text.as_deref().unwrap_or_default();
        match self.ids.binary_search(&columns.id) {
            Ok(at) => {
                let old = self.columns.row(at);
                if (old, self.ages[at], self.prices[at]) != (new, ages, prices) {
                    self.cache.record(old);
                    self.cache.record(new);
                }
                self.columns.replace(at, new);
                (self.ages[at], self.places[at], self.prices[at]) = (ages, place, prices);
                (self.map_x[at], self.map_y[at]) = (x, y);
                self.words.replace(at, new.organisation, text);
                self.added_texts += self.text_count() - texts_before;
            }
            Err(at) => {
                self.cache.record(new);
                self.ids.insert(at, columns.id);
                self.columns.insert(at, new);
                self.ages.insert(at, ages);
                self.places.insert(at, place);
                self.map_x.insert(at, x);
                self.map_y.insert(at, y);
                self.prices.insert(at, prices);
                self.words.insert(at, new.organisation, text);
            }
        }
    }

    /// Returns the number of different texts and words, with those that are no longer used.
    fn text_count(&self) -> usize {
        self.texts.len() + self.words.len()
    }

    /// Removes the texts and words that no listing has. Visits all words of all listings: some tenths of a second for a
    /// million listings. Runs only after thousands of changes.
    fn remove_unused_texts(&mut self) {
        let terms = self.texts.remove_unused(&mut self.columns);
        let renumbered = |((organisation, term), text)| Some(((organisation, terms[term as usize]?), text));
        self.spellings = std::mem::take(&mut self.spellings).into_iter().filter_map(renumbered).collect();
        self.words.remove_unused(&self.columns.organisation);
        self.added_texts = 0;
        // The recorded changes have the old numbers.
        self.cache.clear();
    }

    /// Adds spellings of terms, except of terms that no listing has: their spellings are read again with the first
    /// listing that has them. In the private listings of an organisation the latest spelling replaces earlier ones,
    /// because drafts can be edited.
    pub(crate) fn add_spellings(&mut self, spellings: Vec<Spelling>) {
        for Spelling { organisation_id, term, text } in spellings {
            let Some(term) = self.texts.terms.find(&term) else { continue };
            let organisation = organisation_id.map(|id| self.texts.organisations.intern(&id));
            let old = self.spellings.insert((organisation, term), text.as_str().into());
            if old.as_deref() == Some(&*text) {
                continue;
            }
            // Until it has a public spelling, only searches for private listings find a term, except with the listing
            // that the spelling comes with.
            let is_seen_by_all = organisation.is_none() && old.is_some();
            self.cache.remove_if(|exact| is_seen_by_all || exact.finds_private());
        }
    }

    /// Returns the public spelling of a breed or society, else that of an organisation's private listings, else the
    /// folded term. `None` for the empty term.
    fn spelling(&self, term: u32, private_to: Option<u32>) -> Option<&str> {
        let private = || self.spellings.get(&(Some(private_to?), term));
        let spelling = self.spellings.get(&(None, term)).or_else(private).map(|spelling| &**spelling);
        let text = spelling.unwrap_or_else(|| self.texts.terms.get(term));
        (!text.is_empty()).then_some(text)
    }

    /// Returns the facets of a search as JSON if they are cached. Never blocks.
    pub(crate) fn cached(&self, filters: &SearchFilters) -> Option<String> {
        self.cache.get(&filters.exact, &self.texts)
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
            let spelling = |term| self.spelling(term, compiled.private_to);
            let stats = counts.extents.stats(&self.texts.currencies, filters.exact.today);
            Ok(serde_json::to_string(&Facets::new(&counts, stats, categories, spelling))?)
        };
        if filters.is_cached() && stored.wishlist.is_none() {
            return self.cache.get_or_count(&filters.exact, &self.texts, count);
        }
        count()
    }

    /// Counts the listings of a search.
    fn count(&self, filters: &SearchFilters, compiled: &CompiledFilters, stored: &StoredMatches) -> Counts {
        let mut counts = Counts::new(self.texts.terms.len());
        let words = self.words.filter(&filters.words, filters.audience, &stored.long_texts);
        self.scan(filters, compiled, stored, |start, bits| {
            if !filters.is_cached() {
                for (at, bits) in (start..).zip(bits.iter_mut()) {
                    if !rejected::by_several(*bits) && !self.passes(at, filters, words.as_ref()) {
                        *bits = rejected::BY_ALL;
                    }
                }
            }
            counts.add(&self.columns, (&self.ages, &self.prices), start, bits, compiled.present);
        });
        counts
    }

    /// Calls a closure with the slot of each listing that a search finds.
    fn each_match(
        &self,
        filters: &SearchFilters,
        compiled: &CompiledFilters,
        stored: &StoredMatches,
        mut visit: impl FnMut(usize),
    ) {
        let words = self.words.filter(&filters.words, filters.audience, &stored.long_texts);
        self.scan(filters, compiled, stored, |start, bits| {
            let not_rejected = memchr::memchr_iter(0, bits).map(|at| start + at);
            not_rejected.filter(|at| self.passes(*at, filters, words.as_ref())).for_each(&mut visit);
        });
    }

    /// Visits blocks of listings, with their first slot and the bits of [`rejected`] for each of them, before
    /// [`Self::passes`].
    fn scan(
        &self,
        filters: &SearchFilters,
        compiled: &CompiledFilters,
        stored: &StoredMatches,
        mut visit: impl FnMut(usize, &mut [u8]),
    ) {
        let on_map = filters.ranges.as_ref().and_then(|ranges| ranges.box_on_map());
        let mut bits = [0; BLOCK];
        let mut scan_block = |start: usize, len: usize| {
            let bits = &mut bits[..len];
            compiled.reject(&self.columns, start..start + len, bits);
            if let Some(on_map) = on_map {
                let range = start..start + len;
                let points = self.map_x[range.clone()].iter().zip(&self.map_y[range]);
                for (bits, (x, y)) in bits.iter_mut().zip(points) {
                    *bits |= if on_map.contains(*x, *y) { 0 } else { rejected::BY_ALL };
                }
            }
            visit(start, bits);
        };
        if let Some(ids) = &stored.wishlist {
            let slots = ids.iter().filter_map(|id| self.ids.binary_search(id).ok());
            slots.for_each(|at| scan_block(at, 1));
        } else {
            let starts = (0..self.len()).step_by(BLOCK);
            starts.for_each(|start| scan_block(start, BLOCK.min(self.len() - start)));
        }
    }

    /// Counts the listings of a search without coordinates and, with a zoom, those with coordinates by cell.
    pub(crate) fn map(
        &self,
        filters: &SearchFilters,
        stored: &StoredMatches,
        zoom: Option<u32>,
    ) -> MapCounts {
        let compiled = CompiledFilters::of(&filters.exact, &self.texts);
        let mut cells = zoom.map(Cells::new);
        let mut without_coordinates = 0;
        self.each_match(filters, &compiled, stored, |at| {
            let point = MapPoint { x: self.map_x[at], y: self.map_y[at] };
            if point == MapPoint::NOWHERE {
                without_coordinates += 1;
            } else if let Some(cells) = &mut cells {
                cells.add(match filters.audience {
                    Audience::Callers => point,
                    Audience::Visitors => self.places[at].shown,
                });
            }
        });
        MapCounts { clusters: cells.map_or_else(Vec::new, Cells::into_clusters), without_coordinates }
    }

    /// Returns whether the listing in a slot passes range filters and has all words of a query.
    #[inline]
    fn passes(&self, at: usize, filters: &SearchFilters, words: Option<&WordFilter<'_>>) -> bool {
        let point = MapPoint { x: self.map_x[at], y: self.map_y[at] };
        let ranges = filters.ranges.as_ref();
        ranges.is_none_or(|ranges| ranges.passes(|| self.ages[at], point, || &self.places[at]))
            && words.is_none_or(|words| words.passes(at, self.ids[at]))
    }

    /// Returns the listings that a search for words or in a box may find: those that have the words and lie in the box,
    /// and those whose texts the database must compare. Drafts of all organisations are among them.
    pub(crate) fn candidates(&self, filters: &SearchFilters, max: usize) -> Candidates {
        let exact = ExactFilters { private_to: None, ..filters.exact.clone() };
        let compiled = CompiledFilters::of(&exact, &self.texts);
        let may_be_found =
            |at| compiled.rejected_by(&self.columns, at) == 0 && self.passes(at, filters, None);
        let long_texts = if filters.words.is_empty() {
            HashSet::new()
        } else {
            self.long_texts(may_be_found).take(max + 1).collect()
        };
        let (mut ids, mut found) = (Vec::new(), 0);
        self.each_match(filters, &compiled, &StoredMatches { wishlist: None, long_texts }, |at| {
            found += 1;
            if ids.len() < max {
                ids.push(self.ids[at]);
            }
        });
        if found <= ids.len() {
            return Candidates::Few(ids);
        }
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Candidates::Many { found: number(found), of: number(self.len()) }
    }

    /// Returns the listings whose texts the database must compare with the words of a query, in ascending order.
    /// Without those that count for no filter, whatever their texts: most drafts and cancelled listings.
    pub(crate) fn long_texts_to_compare(&self, filters: &SearchFilters) -> Vec<Id> {
        let compiled = CompiledFilters::of(&filters.exact, &self.texts);
        let may_count = |at| {
            !rejected::by_several(compiled.rejected_by(&self.columns, at)) && self.passes(at, filters, None)
        };
        self.long_texts(may_count).collect()
    }

    /// Returns those of the listings with long texts whose slots meet a condition.
    fn long_texts(&self, condition: impl Fn(usize) -> bool) -> impl Iterator<Item = Id> {
        self.words.long_texts().filter(move |at| condition(*at)).map(|at| self.ids[at])
    }

    /// Returns the numbers of texts and words, and of spellings.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.text_count(), self.spellings.len()]
    }
}
