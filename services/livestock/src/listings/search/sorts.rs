//! The ways to sort listings.

use common::{SortDefinition, Sorting};
use database::search::Nulls;
use database::search::SortType::{self, Float, Number, Text, Timestamp};

use crate::listings::geo::Point;

/// The sort key of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListingSortKey {
    /// The column with this name.
    Column(&'static str),
    /// The age in months, as ten-thousandths: a column, or for working dogs computed from the date of birth.
    Age,
    /// The squared chord of the distance from the point of the search.
    Distance,
}

impl ListingSortKey {
    /// The time of publication, or of creation if the listing was never published. `schema.rs` says why the column has
    /// this name.
    pub(crate) const PUBLISHED: Self = Self::Column("created_at");
    /// The price.
    pub(crate) const PRICE: Self = Self::Column("price");
}

/// All values of `sortBy`.
pub(crate) static SORTS: [SortDefinition<ListingSortKey>; 7] = [
    sort("publishedAt", ListingSortKey::PUBLISHED, Timestamp, Nulls::Never),
    sort("createdAt", ListingSortKey::Column("first_stored_at"), Timestamp, Nulls::Never),
    sort("price", ListingSortKey::PRICE, Number, Nulls::Apart),
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

/// Returns the order by publication, newest first.
pub(crate) fn by_publication() -> Sorting<ListingSortKey> {
    Sorting::new(&SORTS[0], true)
}

/// Returns the order by distance from a point. The cursors of one point are not valid for another.
pub(crate) fn by_distance(point: Point, desc: bool) -> Sorting<ListingSortKey> {
    Sorting::named(&SORTS[6], desc, &format!("distance@{},{}", point.lat, point.lon))
}
