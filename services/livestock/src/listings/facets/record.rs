//! The parts of an index in the form in which a snapshot stores them.

use std::borrow::Cow;

use database::Id;
use serde::{Deserialize, Serialize};

use super::range_filters::Measures;
use super::row::FacetRow;

/// A part of an index. Texts come before the records that contain their numbers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum IndexRecord<'a> {
    /// The key of the hashes in the sets of types.
    TypeKey([u64; 2]),
    /// A term. Terms have the numbers from 1 in the order of their records, as have the next two.
    Term(&'a str),
    /// The id of an organisation.
    Organisation(&'a str),
    /// The hashes of a set of types, in ascending order.
    Types(Cow<'a, [u64]>),
    /// The number of a term and its public spelling.
    Spelling(u32, &'a str),
    /// The numbers of an organisation and of a term, and the spelling in the organisation's private listings.
    PrivateSpelling(u32, u32, Cow<'a, str>),
    /// A word of free-text queries. Words have the numbers from 0 in the order of their records.
    Word(&'a str),
    /// A listing, with the numbers of its words; `None` if the database compares its text. Listings are in the
    /// ascending order of their ids.
    Listing(Id, FacetRow, Measures, Option<Vec<u32>>),
    /// A listing with columns of an older version of the code.
    Stale(Id),
}
