//! The table that facets are counted over: 80 bytes for each listing, in the order of their ids; and what changed lately,
//! so that counts which are kept can follow.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use common::Error;
use database::Id;

use super::super::search::{Search, StatusFilter};
use super::super::search_fields::line;
use super::super::terms::{AdditionalInfo, Sex};
use super::Facets;
use super::beyond::{Measures, RangeFilters};
use super::count::{Counts, DenseTermCounts, SparseTermCounts};
use super::exact::{ExactFilters, Masks, Viewer};
use super::kept::FacetCache;
use super::spelling::Spelling;
use super::store::{PrivateSpelling, Row};
use super::terms::{Interners, NONE, UNKNOWN};
use crate::categories::Categories;

/// What filters compare exactly of a listing: texts by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FacetRow {
    pub organisation: u32,
    pub breed: u32,
    pub breed_type: u32,
    pub society: u32,
    pub types: u32,
    pub category: u8,
    /// The number of its value of the filter `f:status`; [`Traits::CANCELLED_DRAFT`] if it was cancelled as a draft.
    pub status: u8,
    /// A flag for each.
    pub sexes: u8,
    pub additional_info: u8,
}

const _: () = assert!(size_of::<Id>() + size_of::<FacetRow>() + size_of::<Measures>() == 80);

impl FacetRow {
    pub const CANCELLED_DRAFT: u8 = StatusFilter::Draft as u8 + 1;

    fn of(row: &Row, texts: &mut Interners) -> Self {
        let mut number = |text: &Option<String>| text.as_ref().map_or(NONE, |text| texts.terms.number(text));
        let status = match (row.status.as_str(), row.kind.as_str()) {
            ("active", "selling") => StatusFilter::ActiveSelling as u8,
            ("active", _) => StatusFilter::ActiveBuying as u8,
            ("sold", _) => StatusFilter::Sold as u8,
            ("found", _) => StatusFilter::Found as u8,
            ("cancelled", _) if !row.cancelled_as_draft => StatusFilter::Cancelled as u8,
            ("cancelled", _) => Self::CANCELLED_DRAFT,
            _ => StatusFilter::Draft as u8,
        };
        Self {
            breed: number(&row.breed),
            breed_type: number(&row.breed_type),
            society: number(&row.breed_society),
            organisation: texts.organisations.number(&row.organisation_id),
            types: texts.types.number(&row.types),
            category: u8::try_from(row.category).unwrap_or_default(),
            status,
            sexes: flags(&row.sexes, Sex::ALL.map(Sex::as_str)),
            additional_info: flags(&row.additional_info, AdditionalInfo::ALL.map(AdditionalInfo::as_str)),
        }
    }

    /// Takes the new numbers of texts.
    fn renumber(&mut self, terms: &[u32], types: &[u32]) {
        let new = |numbers: &[u32], number: &mut u32| {
            *number = numbers.get(*number as usize).copied().unwrap_or(NONE);
        };
        new(terms, &mut self.breed);
        new(terms, &mut self.breed_type);
        new(terms, &mut self.society);
        new(types, &mut self.types);
    }

    /// True if it was never published: at most its organisation and `admin` find it.
    #[inline]
    pub fn is_private(&self) -> bool {
        self.status >= StatusFilter::Draft as u8
    }
}

/// A flag for each of these values that a column of lines has.
fn flags<const N: usize>(lines: &str, values: [&str; N]) -> u8 {
    values.into_iter().rev().fold(0, |flags, value| flags << 1 | u8::from(lines.contains(&line(value))))
}

/// A change: what a listing was, and what it is.
pub type Change = (Option<FacetRow>, FacetRow);

/// So many changes are remembered: who asks again after more of them is counted for anew.
pub const REMEMBERED: usize = 4_096;

/// Texts that no listing has any more are forgotten when there may be so many of them, and more of them than others.
pub const MAX_UNUSED_TEXTS: usize = 10_000;

/// The table, and what its numbers mean.
#[derive(Debug, Default)]
pub struct Index {
    ids: Vec<Id>,
    traits: Vec<FacetRow>,
    measures: Vec<Measures>,
    pub texts: Interners,
    /// How many texts were left when those that no listing has were forgotten last.
    texts_left: usize,
    /// How breeds and societies are written.
    spellings: HashMap<u32, Box<str>>,
    /// How an organisation writes those that are in its private listings, by its number and the term's.
    private_spellings: HashMap<(u32, u32), Spelling>,
    /// How often one was learnt.
    pub spelt: u64,
    /// The last changes, and how many there were.
    changes: VecDeque<Change>,
    changed: u64,
    pub shelf: FacetCache,
}

impl Index {
    /// Takes listings as they are now. Most are new, and have the greatest ids.
    pub fn insert(&mut self, rows: &[Row]) {
        for row in rows {
            let (now, measures) = (FacetRow::of(row, &mut self.texts), Measures::of(row));
            let before = match self.ids.binary_search(&row.id) {
                Ok(at) => {
                    self.measures[at] = measures;
                    Some(std::mem::replace(&mut self.traits[at], now))
                }
                Err(at) => {
                    self.ids.insert(at, row.id);
                    self.traits.insert(at, now);
                    self.measures.insert(at, measures);
                    None
                }
            };
            if before != Some(now) {
                self.changes.truncate(REMEMBERED - 1);
                self.changes.push_front((before, now));
                self.changed += 1;
            }
        }
        if self.texts.terms.len() + self.texts.types.len() > 2 * self.texts_left + MAX_UNUSED_TEXTS {
            self.forget_unused();
        }
    }

    /// Forgets the texts that no listing has, and the answers and changes that have their numbers. A pass over all listings:
    /// 0.1 s for a million of them in a build without optimisation, and only after thousands of new texts.
    pub fn forget_unused(&mut self) {
        let mut terms = vec![false; self.texts.terms.len()];
        let mut types = vec![false; self.texts.types.len()];
        for listing in &self.traits {
            for term in [listing.breed, listing.breed_type, listing.society] {
                terms[term as usize] = true;
            }
            types[listing.types as usize] = true;
        }
        let (terms, types) = (self.texts.terms.retain(&terms), self.texts.types.retain(&types));
        self.texts_left = self.texts.terms.len() + self.texts.types.len();
        for listing in &mut self.traits {
            listing.renumber(&terms, &types);
        }
        let new = |term: u32| terms.get(term as usize).copied().filter(|term| *term != NONE);
        let spellings = std::mem::take(&mut self.spellings).into_iter();
        self.spellings = spellings.filter_map(|(term, spelling)| Some((new(term)?, spelling))).collect();
        let spellings = std::mem::take(&mut self.private_spellings).into_iter();
        let renumbered = spellings.filter_map(|((by, term), spelling)| Some(((by, new(term)?), spelling)));
        self.private_spellings = renumbered.collect();
        self.changes.clear();
        self.shelf = FacetCache::default();
    }

    /// Takes how terms that listings have are written. What no listing has is read again with the first that has it.
    pub fn spell(&mut self, spellings: Vec<(String, String)>) {
        for (term, spelling) in spellings {
            let term = self.texts.terms.find(&term);
            if term == UNKNOWN {
                continue;
            }
            if self.spellings.get(&term).is_none_or(|known| **known != *spelling) {
                self.spellings.insert(term, spelling.into());
                self.spelt += 1;
            }
        }
    }

    /// Takes how organisations write terms in private listings. Each comes with a change of such a listing, so kept counts
    /// follow that.
    pub fn spell_privately(&mut self, spellings: Vec<PrivateSpelling>) {
        for PrivateSpelling { organisation_id, term, spelling } in spellings {
            let organisation = self.texts.organisations.number(&organisation_id);
            let number = self.texts.terms.find(&term);
            if number == UNKNOWN {
                continue;
            }
            let known = self.private_spellings.entry((organisation, number));
            known.or_insert_with(|| Spelling::of(&term, &spelling));
        }
    }

    /// How a breed or society is written on the market, else in the private listings of an organisation; in lower case if
    /// neither is known.
    pub fn spelling(&self, term: u32, private_to: Option<u32>) -> Option<Cow<'_, str>> {
        if let Some(spelling) = self.spellings.get(&term) {
            return Some(Cow::Borrowed(spelling));
        }
        let text = self.texts.terms.text(term as usize)?;
        let own = private_to.and_then(|organisation| self.private_spellings.get(&(organisation, term)));
        Some(own.map_or(Cow::Borrowed(text), |own| own.write(text)))
    }

    /// How many changes there were.
    pub fn changed(&self) -> u64 {
        self.changed
    }

    /// The changes since there were so many; nothing if not all are remembered.
    pub fn since(&self, changed: u64) -> Option<impl Iterator<Item = &Change>> {
        let new = usize::try_from(self.changed - changed).ok()?;
        (new <= self.changes.len()).then(|| self.changes.iter().take(new))
    }

    /// The facets of a caller's search, as JSON, if they are known without counting.
    pub fn known(
        &self,
        viewer: Viewer<'_>,
        search: &Search,
        categories: &Categories,
    ) -> Result<Option<String>, Error> {
        if search.wishlisted || RangeFilters::of(search).is_some() {
            return Ok(None);
        }
        self.shelf.known(&ExactFilters::of(viewer, search), self, categories)
    }

    /// Returns the facets of a search as JSON. With `wishlist`, only these listings count.
    pub fn facets(
        &self,
        viewer: Viewer<'_>,
        search: &Search,
        wishlist: Option<&[Id]>,
        categories: &Categories,
    ) -> Result<String, Error> {
        let (exact, beyond) = (ExactFilters::of(viewer, search), RangeFilters::of(search));
        if wishlist.is_none() && beyond.is_none() {
            return self.shelf.facets(exact, self, categories);
        }
        let passes = |measures: &Measures| beyond.as_ref().is_none_or(|beyond| beyond.passes(measures));
        if let Some(ids) = wishlist {
            let found = ids.iter().filter_map(|id| self.ids.binary_search(id).ok());
            let found = found.filter(|at| passes(&self.measures[*at])).map(|at| &self.traits[at]);
            let (masks, counts) = self.count_few(&exact, &found.collect::<Vec<_>>());
            return Facets::of(&counts, &masks, self, categories).json();
        }
        let masks = Masks::of(&exact, &self.texts);
        let measured = self.traits.iter().zip(&self.measures);
        let found = measured.filter(|(_, measures)| passes(measures)).map(|(listing, _)| listing);
        Facets::of(&self.count(&masks, found), &masks, self, categories).json()
    }

    /// Counts what exact filters let pass.
    pub fn count_all(&self, masks: &Masks) -> Counts<DenseTermCounts> {
        self.count(masks, self.traits.iter())
    }

    /// Counts those of many listings that filters let pass.
    fn count<'a>(
        &self,
        masks: &Masks,
        listings: impl Iterator<Item = &'a FacetRow>,
    ) -> Counts<DenseTermCounts> {
        let mut counts = Counts::dense(self.texts.terms.len());
        counts.add_all(listings, &masks.for_scan(&self.texts));
        counts
    }

    /// Counts those of a few listings that filters let pass, in time that depends on nothing but these.
    fn count_few(&self, exact: &ExactFilters, listings: &[&FacetRow]) -> (Masks, Counts<SparseTermCounts>) {
        let masks = Masks::of_listings(exact, &self.texts, listings);
        let mut counts = Counts::sparse();
        counts.add_all(listings.iter().copied(), &masks);
        (masks, counts)
    }
}
