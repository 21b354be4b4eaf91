//! The data that the index is built from, and the columns that it has.

use std::collections::HashSet;

use database::Id;
use diesel::prelude::*;
use strum::VariantNames;

use crate::listings::attributes::{AdditionalInfo, Sex};
use crate::listings::search::StatusFilter;
use crate::listings::store::ROW_VERSION;

/// Listings that are filtered and counted together: their bits stay in the fastest memory.
pub(crate) const BLOCK: usize = 1_024;

/// The columns of a listing that the index uses. `schema.rs` has the units.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::listings)]
pub(crate) struct FacetColumns {
    pub(crate) id: Id,
    pub(crate) organisation_id: String,
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) category: i32,
    pub(crate) min_age: Option<i64>,
    pub(crate) max_age: Option<i64>,
    pub(crate) born: Option<i64>,
    pub(crate) breed: Option<String>,
    pub(crate) breed_type: Option<String>,
    pub(crate) breed_society: Option<String>,
    pub(crate) types: String,
    pub(crate) sexes: String,
    pub(crate) additional_info: String,
    pub(crate) derived: i32,
    pub(crate) x: Option<f64>,
    pub(crate) y: Option<f64>,
    pub(crate) z: Option<f64>,
    pub(crate) cancelled_as_draft: bool,
    pub(crate) search_text: Option<String>,
}

/// The values of a listing that filters compare exactly, with texts as numbers of the
/// [`Interners`](super::interner::Interners).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

    /// Converts the columns of a listing, without its texts.
    pub(crate) fn without_texts(columns: &FacetColumns) -> Self {
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
            category: u8::try_from(columns.category).unwrap_or_default(),
            status,
            sexes: flags(&columns.sexes, Sex::VARIANTS),
            additional_info: flags(&columns.additional_info, AdditionalInfo::VARIANTS),
            ..Self::default()
        }
    }

    /// Returns whether the listing was never published. Only its organisation and `admin` can find it.
    pub(crate) fn is_private(&self) -> bool {
        self.status >= StatusFilter::Draft as u8
    }
}

/// Returns a flag for each value that a column of lines contains, the first value in the lowest bit.
fn flags(lines: &str, values: &[&str]) -> u8 {
    let at = |line: &str| values.iter().position(|value| *value == line);
    lines.split('\n').filter_map(at).fold(0, |flags, at| flags | 1 << at)
}

/// Defines [`Columns`] with one array for each field of [`FacetRow`].
macro_rules! columns {
    ($($name:ident: $number:ty),+) => {
        /// The values of all listings that filters compare exactly, by slot. [`FacetRow`] describes them.
        #[derive(Debug, Default)]
        pub(crate) struct Columns {
            $(pub(crate) $name: Vec<$number>,)+
        }

        impl Columns {
            pub(crate) fn row(&self, at: usize) -> FacetRow {
                FacetRow { $($name: self.$name[at]),+ }
            }

            pub(crate) fn insert(&mut self, at: usize, row: FacetRow) {
                $(self.$name.insert(at, row.$name);)+
            }

            pub(crate) fn replace(&mut self, at: usize, row: FacetRow) {
                $(self.$name[at] = row.$name;)+
            }
        }
    };
}

columns! {
    organisation: u32, breed: u32, breed_type: u32, society: u32, types: u32,
    category: u8, status: u8, sexes: u8, additional_info: u8
}

/// What a request reads from the database before it counts.
#[derive(Debug, Default)]
pub(crate) struct StoredMatches {
    /// The listings of the caller's wishlist, if the search is limited to it.
    pub(crate) wishlist: Option<Vec<Id>>,
    /// Of the listings whose texts the database compares, those that have all words of the search.
    pub(crate) long_texts: HashSet<Id>,
}

/// The listings that changed after an [`EventCursor`].
#[derive(Debug)]
pub(crate) struct Changes {
    /// The position to read from the next time.
    pub(crate) position: i64,
    /// The numbers of the events that were read. The next read may find them again.
    pub(crate) seen: HashSet<i64>,
    /// The ids of the changed listings, in ascending order.
    pub(crate) listings: Vec<Id>,
}

/// Listings with the present values of their columns, and the spellings of their terms.
#[derive(Debug, Default)]
pub(crate) struct ListingChanges {
    /// The listings.
    pub(crate) rows: Vec<FacetColumns>,
    /// The public spellings of the terms in the rows.
    pub(crate) spellings: Vec<(String, String)>,
    /// The spellings of the terms in those of the listings that were never published.
    pub(crate) private_spellings: Vec<PrivateSpelling>,
}

/// The spelling of a breed or society in a listing that was never published. Only its organisation sees it.
#[derive(Clone, Debug)]
pub(crate) struct PrivateSpelling {
    /// The organisation that the listing belongs to.
    pub(crate) organisation_id: String,
    /// The breed or society in lower case.
    pub(crate) term: String,
    /// As the listing spells it.
    pub(crate) spelling: String,
}

/// The position up to which the events of listings were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventCursor {
    /// The number of the last read that changed the index.
    pub(crate) read: u64,
    /// All events before this position were read; 0 before the first read.
    pub(crate) position: i64,
    /// The numbers of later events that were read too.
    pub(crate) seen: HashSet<i64>,
    /// Listings with columns of an older version of the code.
    pub(crate) stale: HashSet<Id>,
}

impl EventCursor {
    /// Updates the set of stale listings from rows that were read.
    pub(crate) fn track_stale(&mut self, rows: &[FacetColumns]) {
        for row in rows {
            if row.derived < ROW_VERSION {
                self.stale.insert(row.id);
            } else if !self.stale.is_empty() {
                self.stale.remove(&row.id);
            }
        }
    }
}
