//! The filters that compare exactly, and which of them stop a listing: a bit for each, looked up by the numbers of what the
//! listing says.

use std::collections::BTreeSet;

use common::Caller;

use super::super::search::{CommodityType, Search, StatusFilter};
use super::index::FacetRow;
use super::numbers::Numbers;
use super::terms::{Interner, Interners, UNKNOWN};

/// That a filter stops a listing.
pub mod stop {
    pub const STATUS: u8 = 1;
    pub const KIND: u8 = 1 << 1;
    pub const BREED: u8 = 1 << 2;
    pub const SOCIETY: u8 = 1 << 3;
    pub const SEX: u8 = 1 << 4;
    pub const INFO: u8 = 1 << 5;
    /// As two do: then it counts nowhere.
    pub const ALWAYS: u8 = 0b11 << 6;
}

/// The caller of a search, as far as it decides which listings are found.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'a> {
    pub organisation_id: &'a str,
    pub admin: bool,
}

impl<'a> From<&'a Caller> for Viewer<'a> {
    fn from(caller: &'a Caller) -> Self {
        Self { organisation_id: caller.organisation_id(), admin: caller.admin }
    }
}

/// The filters of a search that compare exactly; equal if they mean the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExactFilters {
    /// A flag for each value of `f:status` that is searched for.
    statuses: u8,
    kind: Option<CommodityType>,
    /// Any of these; of none, all.
    breeds: BTreeSet<String>,
    societies: BTreeSet<String>,
    /// The flag, or none.
    sex: u8,
    info: u8,
    organisation: Option<String>,
    /// Of the listings that were never published, only those of this organisation are found; all without one. Set only
    /// where such listings are searched for, so other searches are equal whoever asks.
    private_to: Option<String>,
}

/// The flag of listings that were cancelled as drafts.
const CANCELLED_DRAFT: u8 = 1 << FacetRow::CANCELLED_DRAFT;
const DRAFT: u8 = 1 << StatusFilter::Draft as u8;
/// The flags of all values before `draft`, the last one.
const PUBLISHED: u8 = DRAFT - 1;

impl ExactFilters {
    pub fn of(viewer: Viewer<'_>, search: &Search) -> Self {
        let statuses = match search.status {
            None if search.wishlisted => PUBLISHED | CANCELLED_DRAFT,
            None => 1 << StatusFilter::ActiveSelling as u8 | 1 << StatusFilter::ActiveBuying as u8,
            Some(StatusFilter::Cancelled) => 1 << StatusFilter::Cancelled as u8 | CANCELLED_DRAFT,
            Some(filter) => 1 << filter as u8,
        };
        // As in the store's `visible_with`: an admin finds all but the drafts of others.
        let is_private =
            if viewer.admin { statuses == DRAFT } else { statuses & (DRAFT | CANCELLED_DRAFT) != 0 };
        Self {
            statuses,
            private_to: is_private.then(|| viewer.organisation_id.to_owned()),
            kind: search.commodity_type.clone(),
            breeds: search.breeds.iter().cloned().collect(),
            societies: search.breed_societies.iter().cloned().collect(),
            sex: search.sexes.map_or(0, |sex| 1 << sex as u8),
            info: search.additional_info.map_or(0, |info| 1 << info as u8),
            organisation: search.organisation_id.clone(),
        }
    }

    /// The value of `properties.type` that is searched for.
    fn type_name(&self) -> Option<&str> {
        match &self.kind {
            Some(CommodityType::Type(name)) => Some(name),
            _ => None,
        }
    }

    /// How much memory it takes, about.
    pub fn bytes(&self) -> usize {
        let texts =
            self.breeds.iter().chain(&self.societies).chain(&self.organisation).chain(&self.private_to);
        size_of::<Self>() + texts.map(|text| size_of::<String>() + text.len()).sum::<usize>()
    }
}

/// Filters in the numbers of the table. Their size does not depend on how many breeds and societies there are.
#[derive(Debug)]
pub struct Masks {
    statuses: [u8; 8],
    categories: [u8; 8],
    breeds: Numbers,
    societies: Numbers,
    types: Numbers,
    sex: u8,
    info: u8,
    organisation: Option<u32>,
    private_to: Option<u32>,
}

impl Masks {
    pub fn of(exact: &ExactFilters, texts: &Interners) -> Self {
        let mut masks = Self::without_types(exact, texts);
        masks.extend(exact, texts);
        masks
    }

    /// Returns masks for these listings only, without looking at the types of others.
    pub fn of_listings(exact: &ExactFilters, texts: &Interners, listings: &[&FacetRow]) -> Self {
        let mut masks = Self::without_types(exact, texts);
        if let Some(name) = exact.type_name() {
            let types = listings.iter().map(|listing| listing.types);
            masks.types = Numbers::listed(types.filter(|number| texts.types.has(*number as usize, name)));
        }
        masks
    }

    fn without_types(exact: &ExactFilters, texts: &Interners) -> Self {
        let mut statuses = [stop::ALWAYS; 8];
        for (bit, status) in statuses.iter_mut().enumerate() {
            // The others have no value of `f:status` to count for.
            let stop = if bit < StatusFilter::COUNTED.len() { stop::STATUS } else { stop::ALWAYS };
            *status = mark(stop, exact.statuses >> bit & 1 == 1);
        }
        let mut categories = [0; 8];
        if let Some(CommodityType::Category(id)) = exact.kind {
            categories = [0, 1, 2, 3, 4, 5, 6, 7].map(|category| mark(stop::KIND, category == id));
        }
        let (sex, info) = (exact.sex, exact.info);
        let (breeds, societies, types) = (Numbers::All, Numbers::All, Numbers::All);
        let (organisation, private_to) = (None, None);
        let mut masks =
            Self { statuses, categories, breeds, societies, types, sex, info, organisation, private_to };
        masks.find_terms(exact, texts);
        masks
    }

    /// Takes texts that are new since; `exact` is what it was made of.
    pub fn extend(&mut self, exact: &ExactFilters, texts: &Interners) {
        self.find_terms(exact, texts);
        if let Some(name) = exact.type_name() {
            self.types.extend(texts.types.len(), |number| texts.types.has(number, name));
        }
    }

    fn find_terms(&mut self, exact: &ExactFilters, texts: &Interners) {
        for (numbers, names) in [(&mut self.breeds, &exact.breeds), (&mut self.societies, &exact.societies)] {
            // Numbers never change while masks are kept, so only names without one are looked for again.
            if numbers.listed_len().unwrap_or_default() < names.len() {
                *numbers = find(names, &texts.terms);
            }
        }
        for (number, id) in
            [(&mut self.organisation, &exact.organisation), (&mut self.private_to, &exact.private_to)]
        {
            if number.is_none_or(|number| number == UNKNOWN) {
                *number = id.as_ref().map(|id| texts.organisations.find(id));
            }
        }
    }

    /// The organisation whose private listings pass.
    pub fn private_to(&self) -> Option<u32> {
        self.private_to
    }

    /// What stops a listing, but for the filters of breeds, societies and types.
    #[inline]
    fn stop_by_others(&self, listing: &FacetRow) -> u8 {
        let is_other = |id: Option<u32>| id.is_some_and(|id| id != listing.organisation);
        let other = is_other(self.organisation) | (listing.is_private() & is_other(self.private_to));
        self.statuses[usize::from(listing.status & 7)]
            | self.categories[usize::from(listing.category & 7)]
            | mark(stop::SEX, listing.sexes & self.sex == self.sex)
            | mark(stop::INFO, listing.additional_info & self.info == self.info)
            | mark(stop::ALWAYS, !other)
    }

    /// The same filters for a scan over many listings.
    pub fn for_scan(&self, texts: &Interners) -> ScanMasks<'_> {
        let mut terms = vec![0; texts.terms.len()];
        for (numbers, stop) in [(&self.breeds, stop::BREED), (&self.societies, stop::SOCIETY)] {
            numbers.mark_others(&mut terms, stop);
        }
        let mut types = vec![0; texts.types.len()];
        self.types.mark_others(&mut types, stop::KIND);
        ScanMasks { masks: self, terms, types }
    }

    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.breeds.bytes() + self.societies.bytes() + self.types.bytes()
    }
}

/// Filters that say what stops a listing.
pub trait Filters {
    fn stop(&self, listing: &FacetRow) -> u8;
}

impl Filters for Masks {
    fn stop(&self, listing: &FacetRow) -> u8 {
        self.stop_by_others(listing)
            | mark(stop::KIND, self.types.has(listing.types))
            | mark(stop::BREED, self.breeds.has(listing.breed) || self.breeds.has(listing.breed_type))
            | mark(stop::SOCIETY, self.societies.has(listing.society))
    }
}

/// Filters with tables of all terms and types: a look-up without a branch for each listing.
#[derive(Debug)]
pub struct ScanMasks<'a> {
    masks: &'a Masks,
    terms: Vec<u8>,
    types: Vec<u8>,
}

impl Filters for ScanMasks<'_> {
    #[inline]
    fn stop(&self, listing: &FacetRow) -> u8 {
        let term = |number: u32| self.terms[number as usize];
        self.masks.stop_by_others(listing)
            | self.types[listing.types as usize]
            | term(listing.breed) & term(listing.breed_type) & stop::BREED
            | term(listing.society) & stop::SOCIETY
    }
}

/// The numbers of those of these names that a listing has.
fn find(names: &BTreeSet<String>, terms: &Interner) -> Numbers {
    Numbers::listed(names.iter().map(|name| terms.find(name)).filter(|number| *number != UNKNOWN))
}

/// The bits, unless it passes.
fn mark(stop: u8, passes: bool) -> u8 {
    if passes { 0 } else { stop }
}
