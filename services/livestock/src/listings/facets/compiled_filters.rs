//! Exact filters compiled for the index: bits that say which filters reject a listing.

use super::exact_filters::{ACTIVE, ExactFilters};
use super::interner::{Interner, Interners, UNKNOWN};
use super::number_set::NumberSet;
use super::row::FacetRow;
use crate::listings::search::{CommodityType, StatusFilter};

/// Bits of the filters that reject a listing: one for each filter that facets count the values of.
pub(crate) mod rejected {
    /// `f:status` rejects the listing.
    pub(crate) const STATUS: u8 = 1;
    /// `f:commodityType` rejects the listing.
    pub(crate) const COMMODITY_TYPE: u8 = 1 << 1;
    /// `f:commodityBreed` rejects the listing.
    pub(crate) const BREED: u8 = 1 << 2;
    /// `f:commodityBreedSociety` rejects the listing.
    pub(crate) const SOCIETY: u8 = 1 << 3;
    /// `f:commoditySexes` rejects the listing.
    pub(crate) const SEX: u8 = 1 << 4;
    /// `f:commodityAdditionalInfo` rejects the listing.
    pub(crate) const ADDITIONAL_INFO: u8 = 1 << 5;
    /// A filter without values of its own rejects the listing. Two bits, so that the listing counts for no filter.
    pub(crate) const BY_ALL: u8 = 0b11 << 6;

    /// Returns whether two filters or more reject the listing, so that it counts for none.
    #[inline]
    pub(crate) fn by_several(bits: u8) -> bool {
        bits & bits.wrapping_sub(1) != 0
    }
}

/// Exact filters with texts as numbers. The size does not depend on the number of breeds and societies in the index.
#[derive(Debug)]
pub(crate) struct CompiledFilters {
    /// The bits of [`rejected`] by status of the listing.
    statuses: [u8; 8],
    /// The bits of [`rejected`] by main category of the listing.
    categories: [u8; 8],
    /// Numbers of the terms that pass as breed or breed type.
    breeds: NumberSet,
    /// Numbers of the terms that pass as breed society.
    societies: NumberSet,
    /// Numbers of the sets of types that pass.
    types: NumberSet,
    /// The flag that a listing must have, or 0.
    sex: u8,
    /// The flag that a listing must have, or 0.
    additional_info: u8,
    /// The number of the only organisation whose listings pass.
    organisation: Option<u32>,
    /// The number of the only organisation whose private listings pass.
    private_to: Option<u32>,
}

impl CompiledFilters {
    /// Compiles filters for all listings.
    pub(crate) fn of(exact: &ExactFilters, texts: &Interners) -> Self {
        let mut filters = Self::without_types(exact, texts);
        filters.extend(exact, texts);
        filters
    }

    /// Compiles filters for these listings only, without the types of others.
    pub(crate) fn of_listings(exact: &ExactFilters, texts: &Interners, listings: &[&FacetRow]) -> Self {
        let mut filters = Self::without_types(exact, texts);
        if let Some(name) = exact.type_name() {
            let types = listings.iter().map(|listing| listing.types);
            filters.types =
                NumberSet::listed(types.filter(|number| texts.types.contains(*number as usize, name)));
        }
        filters
    }

    /// Compiles all filters but the one on types.
    fn without_types(exact: &ExactFilters, texts: &Interners) -> Self {
        let mut statuses = [rejected::BY_ALL; 8];
        for (bit, status) in statuses.iter_mut().enumerate() {
            // The other statuses have no value of `f:status` that could be counted.
            let is_counted =
                bit < StatusFilter::COUNTED.len() && (!exact.is_public || ACTIVE >> bit & 1 == 1);
            let bits = if is_counted { rejected::STATUS } else { rejected::BY_ALL };
            *status = bits_unless(bits, exact.statuses >> bit & 1 == 1);
        }
        let mut categories = [0; 8];
        if let Some(CommodityType::Category(id)) = exact.commodity_type {
            categories = [0, 1, 2, 3, 4, 5, 6, 7]
                .map(|category| bits_unless(rejected::COMMODITY_TYPE, category == id));
        }
        let mut filters = Self {
            statuses,
            categories,
            breeds: NumberSet::All,
            societies: NumberSet::All,
            types: NumberSet::All,
            sex: exact.sex,
            additional_info: exact.additional_info,
            organisation: None,
            private_to: None,
        };
        filters.find_terms(exact, texts);
        filters
    }

    /// Adds texts that are new in the index. `exact` must be the filters that were compiled.
    pub(crate) fn extend(&mut self, exact: &ExactFilters, texts: &Interners) {
        self.find_terms(exact, texts);
        if let Some(name) = exact.type_name() {
            self.types.extend(texts.types.len(), |number| texts.types.contains(number, name));
        }
    }

    /// Looks up the numbers of breeds, societies and organisations.
    fn find_terms(&mut self, exact: &ExactFilters, texts: &Interners) {
        for (numbers, names) in [(&mut self.breeds, &exact.breeds), (&mut self.societies, &exact.societies)] {
            // The numbers of texts do not change while compiled filters exist, so only texts without a number are
            // looked up again.
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

    /// Returns the number of the only organisation whose private listings pass.
    pub(crate) fn private_to(&self) -> Option<u32> {
        self.private_to
    }

    /// Returns the bits of the filters that reject a listing, without those of breeds, societies and types.
    #[inline]
    fn rejected_by_others(&self, listing: &FacetRow) -> u8 {
        let is_other = |id: Option<u32>| id.is_some_and(|id| id != listing.organisation);
        let other = is_other(self.organisation) | (listing.is_private() & is_other(self.private_to));
        self.statuses[usize::from(listing.status & 7)]
            | self.categories[usize::from(listing.category & 7)]
            | bits_unless(rejected::SEX, listing.sexes & self.sex == self.sex)
            | bits_unless(
                rejected::ADDITIONAL_INFO,
                listing.additional_info & self.additional_info == self.additional_info,
            )
            | bits_unless(rejected::BY_ALL, !other)
    }

    /// Expands the filters for a scan over many listings of the index that has these texts.
    pub(crate) fn for_scan(&self, texts: &Interners) -> ScanFilters<'_> {
        let mut terms = vec![0; texts.terms.len()];
        for (numbers, bits) in [(&self.breeds, rejected::BREED), (&self.societies, rejected::SOCIETY)] {
            numbers.mark_others(&mut terms, bits);
        }
        let mut types = vec![0; texts.types.len()];
        self.types.mark_others(&mut types, rejected::COMMODITY_TYPE);
        ScanFilters { filters: self, terms, types }
    }

    /// Returns the memory use in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.breeds.bytes() + self.societies.bytes() + self.types.bytes()
    }
}

/// Filters that decide on listings one by one.
pub(crate) trait Filters {
    /// Returns the bits of the filters that reject a listing, see [`rejected`].
    fn rejected_by(&self, listing: &FacetRow) -> u8;
}

impl Filters for CompiledFilters {
    fn rejected_by(&self, listing: &FacetRow) -> u8 {
        self.rejected_by_others(listing)
            | bits_unless(rejected::COMMODITY_TYPE, self.types.contains(listing.types))
            | bits_unless(
                rejected::BREED,
                self.breeds.contains(listing.breed) || self.breeds.contains(listing.breed_type),
            )
            | bits_unless(rejected::SOCIETY, self.societies.contains(listing.society))
    }
}

/// Filters with the bits of all terms and types in tables, so that a scan needs no branch for each listing.
#[derive(Debug)]
pub(crate) struct ScanFilters<'a> {
    filters: &'a CompiledFilters,
    terms: Vec<u8>,
    types: Vec<u8>,
}

impl Filters for ScanFilters<'_> {
    #[inline]
    fn rejected_by(&self, listing: &FacetRow) -> u8 {
        let term = |number: u32| self.terms[number as usize];
        self.filters.rejected_by_others(listing)
            | self.types[listing.types as usize]
            | term(listing.breed) & term(listing.breed_type) & rejected::BREED
            | term(listing.society) & rejected::SOCIETY
    }
}

/// Returns the numbers of the names that the index has.
fn find(names: &[String], terms: &Interner) -> NumberSet {
    NumberSet::listed(names.iter().map(|name| terms.find(name)).filter(|number| *number != UNKNOWN))
}

/// Returns the bits unless the listing passes.
fn bits_unless(bits: u8, passes: bool) -> u8 {
    if passes { 0 } else { bits }
}
