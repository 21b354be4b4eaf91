//! A listing in the index: texts as numbers, sets as flags.

use serde::{Deserialize, Serialize};
use strum::VariantNames;

use super::interner::{Interners, NONE};
use super::model::FacetColumns;
use crate::listings::attributes::{AdditionalInfo, Sex};
use crate::listings::search::StatusFilter;

/// The values of a listing that filters compare exactly. Texts are numbers of the [`Interners`].
///
/// Snapshots contain rows: a change of the fields needs a new `snapshot::model::FORMAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FacetRow {
    /// Number of the organisation.
    pub(crate) organisation: u32,
    /// Number of a term, as are the next two.
    pub(crate) breed: u32,
    pub(crate) breed_type: u32,
    pub(crate) society: u32,
    /// Number of the set of types.
    pub(crate) types: u32,
    /// Main category.
    pub(crate) category: u8,
    /// Number of the [`StatusFilter`], or [`FacetRow::CANCELLED_DRAFT`].
    pub(crate) status: u8,
    /// One flag for each [`Sex`].
    pub(crate) sexes: u8,
    /// One flag for each [`AdditionalInfo`].
    pub(crate) additional_info: u8,
}

impl FacetRow {
    /// The status of listings that were cancelled as drafts.
    pub(crate) const CANCELLED_DRAFT: u8 = StatusFilter::Draft as u8 + 1;

    /// Converts the columns of a listing. New texts get new numbers.
    pub(crate) fn of(columns: &FacetColumns, texts: &mut Interners) -> Self {
        let mut intern = |text: &Option<String>| text.as_ref().map_or(NONE, |text| texts.terms.intern(text));
        let status = match (columns.status.as_str(), columns.kind.as_str()) {
            ("active", "selling") => StatusFilter::ActiveSelling as u8,
            ("active", _) => StatusFilter::ActiveBuying as u8,
            ("sold", _) => StatusFilter::Sold as u8,
            ("found", _) => StatusFilter::Found as u8,
            ("cancelled", _) if !columns.cancelled_as_draft => StatusFilter::Cancelled as u8,
            ("cancelled", _) => Self::CANCELLED_DRAFT,
            _ => StatusFilter::Draft as u8,
        };
        Self {
            breed: intern(&columns.breed),
            breed_type: intern(&columns.breed_type),
            society: intern(&columns.breed_society),
            organisation: texts.organisations.intern(&columns.organisation_id),
            types: texts.types.intern(&columns.types),
            category: u8::try_from(columns.category).unwrap_or_default(),
            status,
            sexes: flags(&columns.sexes, Sex::VARIANTS),
            additional_info: flags(&columns.additional_info, AdditionalInfo::VARIANTS),
        }
    }

    /// Replaces old numbers of terms and types by the new ones, which the slices have at the index of the old one.
    pub(crate) fn renumber(&mut self, terms: &[u32], types: &[u32]) {
        let replace = |numbers: &[u32], number: &mut u32| {
            *number = numbers.get(*number as usize).copied().unwrap_or(NONE);
        };
        replace(terms, &mut self.breed);
        replace(terms, &mut self.breed_type);
        replace(terms, &mut self.society);
        replace(types, &mut self.types);
    }

    /// Returns whether the listing was never published. Only its organisation and `admin` can find it.
    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        self.status >= StatusFilter::Draft as u8
    }
}

/// Returns a flag for each value that a column of lines contains, the first value in the lowest bit.
fn flags(lines: &str, values: &[&str]) -> u8 {
    let at = |line: &str| values.iter().position(|value| *value == line);
    lines.split('\n').filter_map(at).fold(0, |flags, at| flags | 1 << at)
}
