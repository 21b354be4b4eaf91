//! The ways to sort listings.

use common::{SortDefinition, Sorting};
use database::search::Nulls;
use database::search::SortType::{self, Float, Number, Text, Timestamp};

use super::super::geo::Point;

/// The sort key of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingSortKey {
    /// A column.
    Column(&'static str),
    /// The age in months, as ten-thousandths: a column, or for working dogs computed from the date of birth.
    Age,
    /// The distance from the point of the search.
    Distance,
}

impl ListingSortKey {
    /// True for the most frequent sorts.
    pub fn is_common(self) -> bool {
        matches!(self, Self::Column("created_at" | "price") | Self::Distance)
    }
}

/// All values of `sortBy`.
pub static SORTS: [SortDefinition<ListingSortKey>; 6] = [
    sort("createdAt", ListingSortKey::Column("created_at"), Timestamp, Nulls::Never),
    sort("price", ListingSortKey::Column("price"), Number, Nulls::Apart),
    sort("age", ListingSortKey::Age, Number, Nulls::Apart),
    sort("quantity", ListingSortKey::Column("quantity"), Number, Nulls::Apart),
    sort("organisationName", ListingSortKey::Column("organisation_key"), Text, Nulls::Never),
    sort("distance", ListingSortKey::Distance, Float, Nulls::Apart),
];

const fn sort(
    name: &'static str,
    key: ListingSortKey,
    sort_type: SortType,
    nulls: Nulls,
) -> SortDefinition<ListingSortKey> {
    SortDefinition { name, key, sort_type, nulls }
}

/// Newest first.
pub fn by_creation() -> Sorting<ListingSortKey> {
    Sorting::new(&SORTS[0], true)
}

/// By distance from a point. The cursors of one point are not valid for another.
pub fn by_distance(point: Point, desc: bool) -> Sorting<ListingSortKey> {
    Sorting::named(&SORTS[5], desc, &format!("distance@{},{}", point.lat, point.lon))
}
