//! The filters of a search that compare exactly: all but ages, distance and wishlist.

use common::Caller;

use super::row::FacetRow;
use crate::listings::search::{CommodityType, ListingSearch, StatusFilter};

/// The part of the caller that determines which listings a search finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewer<'a> {
    /// The organisation of the caller; empty without one.
    pub(crate) organisation_id: &'a str,
    /// Whether the caller is an administrator.
    pub(crate) admin: bool,
}

impl<'a> From<&'a Caller> for Viewer<'a> {
    fn from(caller: &'a Caller) -> Self {
        Self { organisation_id: caller.organisation_id_or_empty(), admin: caller.admin }
    }
}

/// The exact filters of a search, normalized: equivalent filters are equal. The key of the cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExactFilters {
    /// One flag for each [`StatusFilter`] that passes, and [`CANCELLED_DRAFT`].
    pub(crate) statuses: u8,
    /// The main category or type that passes; all pass if it is absent.
    pub(crate) commodity_type: Option<CommodityType>,
    /// Breeds or breed types that pass, in ascending order; all pass if it is empty.
    pub(crate) breeds: Box<[String]>,
    /// As `breeds`, for breed societies.
    pub(crate) societies: Box<[String]>,
    /// The flag of a `Sex`, or 0.
    pub(crate) sex: u8,
    /// The flag of an `AdditionalInfo`, or 0.
    pub(crate) additional_info: u8,
    /// The id of the only organisation whose listings pass; all pass if it is absent.
    pub(crate) organisation: Option<String>,
    /// Whether only active listings are counted, whatever the filter.
    pub(crate) is_public: bool,
    /// If present, listings that were never published pass only if they belong to this organisation. Present only if
    /// the search includes such listings, so that all callers share the other entries of the cache.
    pub(crate) private_to: Option<String>,
}

/// Returns the texts in ascending order without duplicates.
fn sorted(texts: &[String]) -> Box<[String]> {
    let mut texts = texts.to_vec();
    texts.sort_unstable();
    texts.dedup();
    texts.into()
}

/// The flag of listings that were cancelled as drafts.
const CANCELLED_DRAFT: u8 = 1 << FacetRow::CANCELLED_DRAFT;
const DRAFT: u8 = 1 << StatusFilter::Draft as u8;
/// The flags of active listings.
pub(crate) const ACTIVE: u8 = 1 << StatusFilter::ActiveSelling as u8 | 1 << StatusFilter::ActiveBuying as u8;
/// The flags of all values but `draft`, which is the last one.
const PUBLISHED: u8 = DRAFT - 1;

impl ExactFilters {
    /// Normalizes the exact filters of a search.
    pub(crate) fn of(viewer: Viewer<'_>, search: &ListingSearch) -> Self {
        let statuses = match search.status {
            None if search.wishlisted => PUBLISHED | CANCELLED_DRAFT,
            None => ACTIVE,
            Some(StatusFilter::Cancelled) => 1 << StatusFilter::Cancelled as u8 | CANCELLED_DRAFT,
            Some(filter) => 1 << filter as u8,
        };
        // As `visible_with` of the store: an admin finds everything but the drafts of other organisations.
        let is_private =
            if viewer.admin { statuses == DRAFT } else { statuses & (DRAFT | CANCELLED_DRAFT) != 0 };
        Self {
            statuses,
            is_public: search.is_public(),
            private_to: is_private.then(|| viewer.organisation_id.to_owned()),
            commodity_type: search.commodity_type.clone(),
            breeds: sorted(&search.breeds),
            societies: sorted(&search.breed_societies),
            sex: search.sex.map_or(0, |sex| 1 << sex as u8),
            additional_info: search.additional_info.map_or(0, |info| 1 << info as u8),
            organisation: search.organisation_id.clone(),
        }
    }

    /// Returns the value of `properties.type` that passes, if the filter names one.
    pub(crate) fn type_name(&self) -> Option<&str> {
        match &self.commodity_type {
            Some(CommodityType::Type(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the approximate memory use in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let texts =
            self.breeds.iter().chain(&self.societies).chain(&self.organisation).chain(&self.private_to);
        size_of::<Self>() + texts.map(|text| size_of::<String>() + text.len()).sum::<usize>()
    }
}
