//! The ways to sort loads.

use common::{Caller, SortDefinition};
use database::search::SortType::{self, Number, Text, Timestamp};
use database::search::{Column, Nulls};

use super::LoadSearch;

/// A sort key of loads.
#[derive(Debug)]
pub(crate) struct LoadSortKey {
    /// The column that has the key.
    pub(crate) column: Column,
    /// True if an index has the matches of a search in this order, so that every page of an export costs the same.
    pub(crate) has_index: fn(&LoadSearch, &Caller) -> bool,
}

/// The column of the default sort.
pub(crate) const CREATED_AT: Column = Column("created_at");

/// All values of `sortBy`.
pub(crate) static SORTS: [SortDefinition<LoadSortKey>; 9] = [
    indexed("createdAt", "created_at", |search, _| {
        !search.delivery.is_limited() && search.statuses.is_empty()
    }),
    indexed("deliveryDateISO", "delivery_at", |search, caller| !caller.admin || search.has_party()),
    unindexed("reference", "reference_key", Text, Nulls::Never),
    unindexed("status", "status", Text, Nulls::Never),
    unindexed("organiser", "organiser_key", Text, Nulls::Mixed),
    unindexed("carrier", "carrier_key", Text, Nulls::Mixed),
    unindexed("commodity", "commodity_key", Text, Nulls::Never),
    unindexed("weight", "weight", Number, Nulls::Mixed),
    unindexed("weightNet", "weight_net", Number, Nulls::Mixed),
];

/// The order of the completed export, which has completed loads only.
pub(crate) static COMPLETED_AT: SortDefinition<LoadSortKey> =
    indexed("completedAt", "completed_at", |_, _| true);

const fn indexed(
    name: &'static str,
    column: &'static str,
    has_index: fn(&LoadSearch, &Caller) -> bool,
) -> SortDefinition<LoadSortKey> {
    let key = LoadSortKey { column: Column(column), has_index };
    SortDefinition { name, key, sort_type: Timestamp, nulls: Nulls::Never }
}

const fn unindexed(
    name: &'static str,
    column: &'static str,
    sort_type: SortType,
    nulls: Nulls,
) -> SortDefinition<LoadSortKey> {
    let key = LoadSortKey { column: Column(column), has_index: |_, _| false };
    SortDefinition { name, key, sort_type, nulls }
}
