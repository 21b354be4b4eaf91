//! The index that facets are counted over: 80 bytes for each listing, in the order of their ids, and its words. It also
//! has the latest changes, so that cached counts can be updated.

mod records;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use database::Id;

use super::compiled_filters::{CompiledFilters, Filters, rejected};
use super::counts::{Counts, DenseTermCounts, SparseTermCounts};
use super::exact_filters::{ExactFilters, Viewer};
use super::interner::{Interners, NONE, UNKNOWN};
use super::model::{FacetColumns, PrivateSpelling};
use super::range_filters::{Measures, RangeFilters};
use super::row::FacetRow;
use super::spelling::Spelling;
use super::words::{ListingWords, WordFilter};
use crate::listings::search::{Audience, ListingSearch};

const _: () = assert!(size_of::<Id>() + size_of::<FacetRow>() + size_of::<Measures>() == 80);

/// A change of a listing: the old row, absent for a new listing, and the new row.
pub(crate) type Change = (Option<FacetRow>, FacetRow);

/// Changes that the index remembers. Counts that are older are counted from scratch.
pub(crate) const MAX_CHANGES: usize = 4_096;

/// Unused texts are removed when the number of texts exceeds twice the number after the last removal plus this.
pub(crate) const MAX_UNUSED_TEXTS: usize = 10_000;

/// The rows of all listings, and the texts that their numbers stand for.
#[derive(Debug, Default)]
pub(crate) struct FacetIndex {
    /// In ascending order. `rows`, `measures` and `words` have the same order.
    ids: Vec<Id>,
    rows: Vec<FacetRow>,
    measures: Vec<Measures>,
    /// The words that free-text queries compare.
    words: ListingWords,
    /// The texts of all rows by number.
    pub(crate) texts: Interners,
    /// The number of terms and types after the last removal of unused ones.
    texts_after_removal: usize,
    /// Public spellings of breeds and societies by number of term.
    spellings: HashMap<u32, Box<str>>,
    /// Spellings of breeds and societies in private listings, by number of the organisation and of the term.
    private_spellings: HashMap<(u32, u32), Spelling>,
    /// Incremented when a spelling is added or changed.
    spelling_version: u64,
    /// The latest changes, newest first.
    changes: VecDeque<Change>,
    /// The number of all changes.
    change_count: u64,
}

impl FacetIndex {
    /// Adds or replaces listings. New listings usually have the greatest ids, so that they are appended.
    ///
    /// Returns `true` if unused texts were removed: then compiled filters and counts of this index are invalid, because
    /// the remaining texts have new numbers.
    #[must_use]
    pub(crate) fn insert(&mut self, listings: &[FacetColumns]) -> bool {
        let mut has_unused_words = false;
        for columns in listings {
            let (row, measures) = (FacetRow::of(columns, &mut self.texts), Measures::of(columns));
            let text = columns.search_text.as_deref();
            let old = match self.ids.binary_search(&columns.id) {
                Ok(at) => {
                    has_unused_words |= self.words.replace(at, columns.id, row.organisation, text);
                    self.measures[at] = measures;
                    Some(std::mem::replace(&mut self.rows[at], row))
                }
                Err(at) => {
                    self.ids.insert(at, columns.id);
                    self.rows.insert(at, row);
                    self.measures.insert(at, measures);
                    self.words.insert(at, columns.id, row.organisation, text);
                    None
                }
            };
            if old != Some(row) {
                self.changes.truncate(MAX_CHANGES - 1);
                self.changes.push_front((old, row));
                self.change_count += 1;
            }
        }
        if has_unused_words {
            let rows = &self.rows;
            self.words.compact(|at| rows[at].organisation);
        }
        let texts = self.texts.terms.len() + self.texts.types.len();
        let has_many_unused = texts > 2 * self.texts_after_removal + MAX_UNUSED_TEXTS;
        if has_many_unused {
            self.remove_unused_texts();
        }
        has_many_unused
    }

    /// Removes the texts that no listing has. Compiled filters and counts of this index are invalid afterwards.
    ///
    /// Scans all listings: 0.1 s for a million listings in a debug build. Runs only after thousands of new texts.
    pub(crate) fn remove_unused_texts(&mut self) {
        let mut terms = vec![false; self.texts.terms.len()];
        let mut types = vec![false; self.texts.types.len()];
        for row in &self.rows {
            for term in [row.breed, row.breed_type, row.society] {
                terms[term as usize] = true;
            }
            types[row.types as usize] = true;
        }
        let (terms, types) = (self.texts.terms.retain(&terms), self.texts.types.retain(&types));
        self.texts_after_removal = self.texts.terms.len() + self.texts.types.len();
        for row in &mut self.rows {
            row.renumber(&terms, &types);
        }
        let new = |term: u32| terms.get(term as usize).copied().filter(|term| *term != NONE);
        let spellings = std::mem::take(&mut self.spellings).into_iter();
        self.spellings = spellings.filter_map(|(term, spelling)| Some((new(term)?, spelling))).collect();
        let spellings = std::mem::take(&mut self.private_spellings).into_iter();
        let renumbered = spellings.filter_map(|((by, term), spelling)| Some(((by, new(term)?), spelling)));
        self.private_spellings = renumbered.collect();
        self.changes.clear();
    }

    /// Adds public spellings by term. Ignores terms that no listing has: their spellings are read again with the first
    /// listing that has them.
    pub(crate) fn add_spellings(&mut self, spellings: Vec<(String, String)>) {
        for (term, spelling) in spellings {
            let term = self.texts.terms.find(&term);
            if term == UNKNOWN {
                continue;
            }
            if self.spellings.get(&term).is_none_or(|old| **old != *spelling) {
                self.spellings.insert(term, spelling.into());
                self.spelling_version += 1;
            }
        }
    }

    /// Adds spellings of private listings. The latest spelling of a term in an organisation replaces earlier ones,
    /// because drafts can be edited.
    pub(crate) fn add_private_spellings(&mut self, spellings: Vec<PrivateSpelling>) {
        for PrivateSpelling { organisation_id, term, spelling } in spellings {
            let organisation = self.texts.organisations.intern(&organisation_id);
            let number = self.texts.terms.find(&term);
            if number == UNKNOWN {
                continue;
            }
            let key = (organisation, number);
            let known = self.private_spellings.get(&key).map(|known| known.decode(&term));
            if known.as_deref().unwrap_or(&term) == spelling {
                continue;
            }
            if term == spelling {
                self.private_spellings.remove(&key);
            } else {
                self.private_spellings.insert(key, Spelling::of(&term, &spelling));
            }
            self.spelling_version += 1;
        }
    }

    /// Returns the public spelling of a breed or society, else that of an organisation's private listings, else the
    /// term in lower case.
    pub(crate) fn spelling(&self, term: u32, private_to: Option<u32>) -> Option<Cow<'_, str>> {
        if let Some(spelling) = self.spellings.get(&term) {
            return Some(Cow::Borrowed(spelling));
        }
        let text = self.texts.terms.text(term as usize)?;
        let private = private_to.and_then(|organisation| self.private_spellings.get(&(organisation, term)));
        Some(private.map_or(Cow::Borrowed(text), |private| private.decode(text)))
    }

    /// Returns the version of the spellings.
    pub(crate) fn spelling_version(&self) -> u64 {
        self.spelling_version
    }

    /// Returns the number of all changes.
    pub(crate) fn change_count(&self) -> u64 {
        self.change_count
    }

    /// Returns the changes after the first `count` changes, or `None` if the index has forgotten some of them.
    pub(crate) fn changes_since(&self, count: u64) -> Option<impl Iterator<Item = &Change>> {
        let new = usize::try_from(self.change_count - count).ok()?;
        (new <= self.changes.len()).then(|| self.changes.iter().take(new))
    }

    /// Counts all listings.
    pub(crate) fn count_all(&self, filters: &CompiledFilters) -> Counts<DenseTermCounts> {
        self.count_rows(filters, self.rows.iter())
    }

    /// Counts the listings that pass range filters and have all words of a query.
    pub(crate) fn count_in_range(
        &self,
        filters: &CompiledFilters,
        ranges: Option<&RangeFilters>,
        words: Option<&WordFilter<'_>>,
    ) -> Counts<DenseTermCounts> {
        let positions = (0..self.rows.len()).filter(|at| self.passes(*at, ranges, words));
        self.count_rows(filters, positions.map(|at| &self.rows[at]))
    }

    /// Returns whether the listing at a position passes range filters and has all words of a query.
    #[inline]
    fn passes(&self, at: usize, ranges: Option<&RangeFilters>, words: Option<&WordFilter<'_>>) -> bool {
        ranges.is_none_or(|ranges| ranges.passes(&self.measures[at]))
            && words.is_none_or(|words| words.passes(at, self.ids[at]))
    }

    /// Compiles the words of a query, if there are any. `long_texts` are those of [`FacetIndex::counted_long_texts`]
    /// that have all of them.
    pub(crate) fn word_filter<'a>(
        &'a self,
        words: &[String],
        audience: Audience,
        long_texts: &'a HashSet<Id>,
    ) -> Option<WordFilter<'a>> {
        self.words.filter(words, audience, long_texts)
    }

    /// Returns the listings that a search for words may find: those that have the words, and those whose texts the
    /// database must compare. `None` if they are more than `max`. Drafts of all organisations are among them.
    pub(crate) fn candidates(&self, search: &ListingSearch, max: usize) -> Option<Vec<Id>> {
        let viewer = Viewer { organisation_id: "", admin: true };
        let exact = ExactFilters { private_to: None, ..ExactFilters::of(viewer, search) };
        let (filters, ranges) = (CompiledFilters::of(&exact, &self.texts), RangeFilters::of(search));
        let may_be_found = |at: usize| {
            filters.rejected_by(&self.rows[at]) == 0
                && ranges.as_ref().is_none_or(|ranges| ranges.passes(&self.measures[at]))
        };
        let long_texts = self.long_texts(may_be_found).take(max + 1).collect();
        let words = self.words.filter(&search.words, search.audience, &long_texts)?;
        let ids = self.ids.iter().enumerate();
        let ids = ids.filter(|(at, id)| words.passes(*at, **id) && may_be_found(*at));
        let ids: Vec<_> = ids.map(|(_, id)| *id).take(max + 1).collect();
        (ids.len() <= max).then_some(ids)
    }

    /// Returns the listings whose texts the database must compare with the words of a query, in ascending order.
    /// Without those that count for no filter, whatever their texts: most drafts and cancelled listings.
    pub(crate) fn counted_long_texts(&self, exact: &ExactFilters, ranges: Option<&RangeFilters>) -> Vec<Id> {
        let filters = CompiledFilters::of(exact, &self.texts);
        let may_count = |at: usize| {
            !rejected::by_several(filters.rejected_by(&self.rows[at]))
                && ranges.is_none_or(|ranges| ranges.passes(&self.measures[at]))
        };
        self.long_texts(may_count).collect()
    }

    /// Returns those of the listings with long texts whose positions meet a condition.
    fn long_texts(&self, condition: impl Fn(usize) -> bool) -> impl Iterator<Item = Id> {
        let ids = self.words.long_texts().iter().copied();
        ids.filter(move |id| self.ids.binary_search(id).is_ok_and(&condition))
    }

    fn count_rows<'a>(
        &self,
        filters: &CompiledFilters,
        rows: impl Iterator<Item = &'a FacetRow>,
    ) -> Counts<DenseTermCounts> {
        let mut counts = Counts::dense(self.texts.terms.len());
        counts.add_all(rows, &filters.for_scan(&self.texts));
        counts
    }

    /// Counts listings by their ids, and returns the filters compiled for them. Without words, the time depends on
    /// their number, and only logarithmically on the size of the index.
    pub(crate) fn count_ids(
        &self,
        ids: &[Id],
        exact: &ExactFilters,
        ranges: Option<&RangeFilters>,
        words: Option<&WordFilter<'_>>,
    ) -> (CompiledFilters, Counts<SparseTermCounts>) {
        let positions = ids.iter().filter_map(|id| self.ids.binary_search(id).ok());
        let passing = positions.filter(|at| self.passes(*at, ranges, words));
        let rows: Vec<_> = passing.map(|at| &self.rows[at]).collect();
        let filters = CompiledFilters::of_listings(exact, &self.texts, &rows);
        let mut counts = Counts::sparse();
        counts.add_all(rows.into_iter(), &filters);
        (filters, counts)
    }
}
