//! The filters that compare exactly, and which of them stop a listing: a bit for each, looked up by the numbers of what the
//! listing says.

use std::collections::BTreeSet;

use common::Caller;

use super::super::search::{CommodityType, Search, StatusFilter};
use super::index::Traits;
use super::terms::{Texts, UNKNOWN};

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
pub struct Exact {
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
const CANCELLED_DRAFT: u8 = 1 << Traits::CANCELLED_DRAFT;
const DRAFT: u8 = 1 << StatusFilter::Draft as u8;
/// The flags of all values before `draft`, the last one.
const PUBLISHED: u8 = DRAFT - 1;

impl Exact {
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

    /// How much memory it takes, about.
    pub fn bytes(&self) -> usize {
        let texts =
            self.breeds.iter().chain(&self.societies).chain(&self.organisation).chain(&self.private_to);
        size_of::<Self>() + texts.map(|text| size_of::<String>() + text.len()).sum::<usize>()
    }
}

/// Filters in the numbers of the table.
#[derive(Debug)]
pub struct Masks {
    statuses: [u8; 8],
    categories: [u8; 8],
    terms: Vec<u8>,
    types: Vec<u8>,
    sex: u8,
    info: u8,
    organisation: Option<u32>,
    private_to: Option<u32>,
}

impl Masks {
    pub fn of(exact: &Exact, texts: &Texts) -> Self {
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
        let (terms, types) = (Vec::new(), Vec::new());
        let (organisation, private_to) = (None, None);
        let mut masks = Self { statuses, categories, terms, types, sex, info, organisation, private_to };
        masks.learn(exact, texts);
        masks
    }

    /// Takes texts that are new since; `exact` is what it was made of.
    pub fn learn(&mut self, exact: &Exact, texts: &Texts) {
        let any = |wanted: &BTreeSet<String>, text: Option<&str>| {
            wanted.is_empty() || text.is_some_and(|text| wanted.contains(text))
        };
        for number in self.terms.len()..texts.terms.len() {
            let text = texts.terms.text(number);
            let breed = mark(stop::BREED, any(&exact.breeds, text));
            self.terms.push(breed | mark(stop::SOCIETY, any(&exact.societies, text)));
        }
        let kind = match &exact.kind {
            Some(CommodityType::Type(name)) => Some(name),
            _ => None,
        };
        for number in self.types.len()..texts.types.len() {
            let passes = kind.is_none_or(|name| texts.types.has(number, name));
            self.types.push(mark(stop::KIND, passes));
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

    /// What stops a listing.
    #[inline]
    pub fn stop(&self, listing: &Traits) -> u8 {
        let term = |number: u32| self.terms[number as usize];
        let is_other = |id: Option<u32>| id.is_some_and(|id| id != listing.organisation);
        let other = is_other(self.organisation) | (listing.is_private() & is_other(self.private_to));
        self.statuses[usize::from(listing.status & 7)]
            | self.categories[usize::from(listing.category & 7)]
            | self.types[listing.types as usize]
            | term(listing.breed) & term(listing.breed_type) & stop::BREED
            | term(listing.society) & stop::SOCIETY
            | mark(stop::SEX, listing.sexes & self.sex == self.sex)
            | mark(stop::INFO, listing.additional_info & self.info == self.info)
            | mark(stop::ALWAYS, !other)
    }

    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.terms.capacity() + self.types.capacity()
    }
}

/// The bits, unless it passes.
fn mark(stop: u8, passes: bool) -> u8 {
    if passes { 0 } else { stop }
}
