//! How a search is read: with which statements, where the page is looked for first, and as which queries. All of it
//! follows from the search, so it is decided without a database.

use std::ops::RangeInclusive;

use common::PageRequest;
use database::Id;
use database::search::{Nulls, SortValue};

use super::sorts::by_publication;
use super::{CommodityType, ListingSearch, ListingSortKey, StatusFilter};
use crate::categories::WORKING_DOG;
use crate::listings::geo::{Cell, km_of};

/// Largest `offset` plus rows for which a page is first looked for in cells.
const MAX_PAGE_END: i64 = 200;

/// How the statements of a page are prepared and planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// They stay prepared, and are planned once for all values: an index has the listings of each branch in the order
    /// of the search, and all columns of the other filters.
    Reusable,
    /// They stay prepared, and are planned for the values of each call.
    Prepared,
    /// They are prepared and planned for each call.
    PerCall,
}

impl Plan {
    /// Returns the plan of the pages of a search. The most frequent kinds of searches make a few hundred different
    /// statements (a few dozen without cursors), so connections can keep them prepared.
    pub(crate) fn of(search: &ListingSearch) -> Self {
        let is_frequent = matches!(
            search.sorting.by.key,
            ListingSortKey::PUBLISHED | ListingSortKey::PRICE | ListingSortKey::Distance
        ) && !matches!(search.status, Some(StatusFilter::Draft | StatusFilter::Cancelled))
            && !matches!(search.commodity_type, Some(CommodityType::Type(_)))
            && search.breeds.len() <= 1
            && search.breed_types.is_empty()
            && search.breed_societies.is_empty()
            && search.sex.is_none()
            && search.additional_info.is_none()
            && search.min_age.or(search.max_age).is_none()
            && search.organisation_id.is_none()
            && !search.wishlisted
            && search.words.is_empty()
            && search.bbox.is_none()
            && !search.has_location
            && search
                .bounding_area()
                .is_none_or(|area| area.longitudes.len() == 1 && area.few_bands().is_some());
        // A category by price has no index in this order.
        let is_in_index_order = match search.sorting.by.key {
            ListingSortKey::PUBLISHED => true,
            ListingSortKey::PRICE => !search.breeds.is_empty() || search.commodity_type.is_none(),
            _ => false,
        };
        match is_frequent {
            true if is_in_index_order && search.near.is_none() && !search.count => Self::Reusable,
            true => Self::Prepared,
            false => Self::PerCall,
        }
    }

    /// Returns true if connections keep the statements prepared.
    pub(crate) fn is_prepared(self) -> bool {
        self != Self::PerCall
    }
}

/// What the index in memory knows of the matches of a search before the database is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// Nothing.
    #[default]
    Unknown,
    /// No other listings have all words and lie in the box.
    Few(Vec<Id>),
    /// So many of all listings may match that they are not named.
    Many { found: u64, of: u64 },
}

impl Candidates {
    /// Returns the listings that are the only ones that the search may find, if they are known.
    pub(crate) fn ids(&self) -> Option<&[Id]> {
        if let Self::Few(ids) = self { Some(ids) } else { None }
    }

    /// Returns true if so many listings lie in the box of a search that reading in its order finds the page soonest.
    pub(crate) fn are_read_in_order(&self, search: &ListingSearch) -> bool {
        let Self::Many { found, of } = *self else { return false };
        // The rows that are read in order until the page is full, compared with all in the box.
        let page_end = u64::try_from(search.page.limit.saturating_add(search.page.offset));
        let read = page_end.unwrap_or_default().saturating_mul(of) / found.max(1);
        search.bbox.is_some()
            && search.within_km().is_none()
            && search.sorting.by.key != ListingSortKey::Distance
            && read < found
    }
}

/// Where a page is looked for first. If it is not full there, it is read from all listings of the search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Start {
    /// In these cells of the globe: an index of SQLite has their listings in the order of publication.
    Cells(Vec<Cell>),
    /// Around the point of the search.
    Rings(Rings),
    /// Among all listings of the search.
    Everywhere,
}

impl Start {
    /// Returns where a page of a search is looked for first. `has_cells` is true for a database with the index of
    /// cells, `has_few_matches` for a search that begins in an index of words: few matches are sorted at once.
    pub(crate) fn of(search: &ListingSearch, has_cells: bool, has_few_matches: bool) -> Self {
        let uses_cells = has_cells
            && search.sorting.by.key == ListingSortKey::PUBLISHED
            && search.within_km().is_some()
            && Plan::of(search).is_prepared()
            // The index has the exact coordinates.
            && !search.is_public()
            && search.page.offset + search.page.fetch() <= MAX_PAGE_END;
        if let Some(cells) = search.bounding_area().filter(|_| uses_cells).and_then(|area| area.few_cells()) {
            return Self::Cells(cells);
        }
        match Rings::of(search) {
            Some(rings) if !has_few_matches && rings.first_km().is_some() => Self::Rings(rings),
            _ => Self::Everywhere,
        }
    }
}

/// The distances within which a search for the nearest listings looks, one after the other, until a page is full.
///
/// The first one suffices where listings are dense. What it finds shows how dense they are, and so how large the next
/// one has to be: a page costs about the same among 10,000 and a million listings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rings {
    /// The distance at which the page begins, in kilometres.
    begin_km: f64,
    /// The largest distance of the search, in kilometres; infinite without one.
    limit_km: f64,
    /// The rows up to the end of the page.
    page_end: i64,
}

/// The first distance from the point, in kilometres. For a page after a cursor, the ring around the cursor's distance
/// has the same area.
const FIRST_RING_KM: f64 = 6.0;
/// The largest distance before all listings are searched, in kilometres.
const MAX_RING_KM: f64 = 300.0;
/// The next area is chosen so large that it is expected to have this many times the rows of the page.
const EXPECTED_PAGES: f64 = 3.0;
/// The smallest ratio of an area to the previous one.
const MIN_GROWTH: f64 = 4.0;
/// A ring that is not smaller than this part of the distance of the search saves too little.
const MAX_PART: f64 = 0.7;

impl Rings {
    /// Returns the rings of a search for the nearest listings. `None` for others, and for a page that begins among the
    /// listings without a location, which come last.
    fn of(search: &ListingSearch) -> Option<Self> {
        let is_nearest_first = search.sorting.by.key == ListingSortKey::Distance && !search.sorting.desc;
        let near = search.near.filter(|_| is_nearest_first)?;
        let begin_km = match search.page.position() {
            None => 0.0,
            Some((Some(SortValue::Integer(bits)), _)) => km_of(f64::from_bits(bits.cast_unsigned())),
            Some(_) => return None,
        };
        Some(Self {
            begin_km,
            limit_km: near.within_km.unwrap_or(f64::INFINITY),
            page_end: search.page.fetch() + search.page.offset,
        })
    }

    /// Returns the distance within which to look first; `None` to search all listings.
    pub(crate) fn first_km(&self) -> Option<f64> {
        self.useful_km(self.begin_km.hypot(FIRST_RING_KM))
    }

    /// Returns the distance within which to look next if `found` rows, fewer than fill the page, are within `km`;
    /// `None` to search all listings.
    pub(crate) fn next_km(&self, km: f64, found: usize) -> Option<f64> {
        if km >= MAX_RING_KM {
            return None;
        }
        let begin = self.begin_km;
        let count = |rows: i64| f64::from(u32::try_from(rows).unwrap_or(u32::MAX));
        let wanted = EXPECTED_PAGES * count(self.page_end);
        let found = count(i64::try_from(found).unwrap_or(i64::MAX)).max(1.0);
        let area = (km * km - begin * begin) * (wanted / found).max(MIN_GROWTH);
        self.useful_km((begin * begin + area).sqrt().min(MAX_RING_KM))
    }

    /// Returns the distance if it is much smaller than that of the search, and at most [`MAX_RING_KM`].
    fn useful_km(&self, km: f64) -> Option<f64> {
        (km <= MAX_RING_KM && km <= MAX_PART * self.limit_km).then_some(km)
    }
}

/// One of the queries of a search. They have no row in common, and an index has the rows of each in the order of the
/// search. One condition with OR would keep a database from using the indexes.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    /// The longitudes of its rows in degrees east, if the distance is limited.
    pub(crate) longitudes: Option<RangeInclusive<f64>>,
    /// The column that the filter on breeds compares.
    pub(crate) breed: BreedColumn,
    /// The kind of sort keys that its rows have.
    pub(crate) keys: KeyKind,
}

/// The column that has one of the breeds of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreedColumn {
    /// None: the search is not limited to breeds.
    Any,
    /// `breed`.
    Breed,
    /// `breed_type`, while `breed` has none of them.
    BreedType,
}

/// The sort keys of the rows of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// Every listing has a value in the column: the branch has all rows.
    Always,
    /// The column has a value.
    Column,
    /// The age of a dog, computed from its date of birth.
    DogAge,
    /// None: the rows without a sort key.
    Missing,
}

impl Branch {
    /// Returns the branches of a page.
    pub(crate) fn all(search: &ListingSearch, page: &PageRequest) -> Vec<Self> {
        let longitudes = search.bounding_area().map(|area| area.longitudes);
        let longitudes = longitudes.map_or(vec![None], |ranges| ranges.into_iter().map(Some).collect());
        let breeds = if search.breeds.is_empty() {
            &[BreedColumn::Any][..]
        } else {
            &[BreedColumn::Breed, BreedColumn::BreedType]
        };
        // Rows without a sort key come last.
        let only_missing = page.after.as_ref().is_some_and(|cursor| cursor.value.is_none());
        let kinds = key_kinds(search).iter().filter(|keys| !only_missing || **keys == KeyKind::Missing);
        let mut all = Vec::new();
        for keys in kinds {
            for breed in breeds {
                for range in &longitudes {
                    all.push(Self { longitudes: range.clone(), breed: *breed, keys: *keys });
                }
            }
        }
        all
    }

    /// Returns branches that together have all matches once, in no order: as few branches as possible.
    pub(crate) fn to_count(search: &ListingSearch) -> Vec<Self> {
        Self::all(&ListingSearch { sorting: by_publication(), ..search.clone() }, &PageRequest::first())
    }
}

/// Returns the kinds of sort keys that the matches of a search can have.
fn key_kinds(search: &ListingSearch) -> &'static [KeyKind] {
    let sort = search.sorting.by;
    match sort.key {
        _ if sort.nulls == Nulls::Never => &[KeyKind::Always],
        ListingSortKey::Age => match search.commodity_type {
            Some(CommodityType::Category(id)) if id != WORKING_DOG => &[KeyKind::Column, KeyKind::Missing],
            // A filter on ages matches only listings with an age.
            _ if search.min_age.or(search.max_age).is_some() => &[KeyKind::Column, KeyKind::DogAge],
            _ => &[KeyKind::Column, KeyKind::DogAge, KeyKind::Missing],
        },
        // A filter on distances matches only listings with a location.
        ListingSortKey::Distance if search.within_km().is_some() => &[KeyKind::Column],
        ListingSortKey::Column(_) | ListingSortKey::Distance => &[KeyKind::Column, KeyKind::Missing],
    }
}

#[cfg(test)]
mod tests {
    use common::Format;
    use common::validation::ValidationErrors;
    use serde_json::{Value, json};

    use super::*;
    use crate::categories::Categories;
    use crate::listings::search::{Audience, ListingSearchParams};

    fn search(parameters: Value) -> ListingSearch {
        let parameters: ListingSearchParams = serde_json::from_value(parameters).unwrap();
        let mut errors = ValidationErrors::default();
        let search = parameters.parse(Format::Json, &Categories::open(None).unwrap(), None, &mut errors);
        errors.check().unwrap();
        search
    }

    /// Returns the parameters of a search around a point with further ones.
    fn around(parameters: Value) -> Value {
        let mut all = json!({"latitude": 52, "longitude": -3});
        all.as_object_mut().unwrap().extend(parameters.as_object().unwrap().clone());
        all
    }

    /// No index has a category in the order of prices: a plan for all categories would read all prices for a rare one.
    #[test]
    fn plans_are_reused_where_an_index_has_the_order() {
        for (parameters, plan) in [
            (json!({}), Plan::Reusable),
            (json!({"f:commodityType": "cattle"}), Plan::Reusable),
            (
                json!({"f:commodityBreed": ["hereford"], "f:commodityType": "cattle", "sortBy": "price"}),
                Plan::Reusable,
            ),
            (json!({"f:commodityType": "cattle", "sortBy": "price"}), Plan::Prepared),
            (json!({"f:commodityBreed": ["hereford"], "count": true}), Plan::Prepared),
            (around(json!({"distanceKm": 50, "f:commodityBreed": ["hereford"]})), Plan::Prepared),
            (around(json!({"distanceKm": 5_000})), Plan::PerCall),
            (json!({"f:commodityBreed": ["hereford", "limousin"]}), Plan::PerCall),
            (json!({"f:organisationId": "a"}), Plan::PerCall),
            (json!({"query": "quiet"}), Plan::PerCall),
            (json!({"sortBy": "age"}), Plan::PerCall),
            (json!({"f:status": "draft"}), Plan::PerCall),
        ] {
            assert_eq!(Plan::of(&search(parameters.clone())), plan, "{parameters}");
        }
    }

    #[test]
    fn pages_around_a_point_begin_in_cells_or_rings() {
        let newest = around(json!({"distanceKm": 50, "sortBy": "publishedAt"}));
        let start = |parameters: &Value| Start::of(&search(parameters.clone()), true, false);
        assert!(matches!(start(&newest), Start::Cells(cells) if !cells.is_empty()));
        assert_eq!(Start::of(&search(newest.clone()), false, false), Start::Everywhere);
        let public = ListingSearch { audience: Audience::Visitors, ..search(newest.clone()) };
        assert_eq!(Start::of(&public, true, false), Start::Everywhere);
        for everywhere in [
            json!({}),
            around(json!({"sortBy": "publishedAt"})),
            around(json!({"distanceKm": 50, "sortBy": "publishedAt", "offset": 200})),
            around(json!({"distanceKm": 50, "sortBy": "price"})),
            around(json!({"sortDesc": true})),
            around(json!({"distanceKm": 5})),
        ] {
            assert_eq!(start(&everywhere), Start::Everywhere, "{everywhere}");
        }
        let nearest = around(json!({}));
        assert!(matches!(start(&nearest), Start::Rings(rings) if rings.first_km() == Some(FIRST_RING_KM)));
        assert_eq!(Start::of(&search(nearest), true, true), Start::Everywhere);
    }

    #[test]
    fn pages_of_a_full_box_are_read_in_order() {
        let in_box = json!({"bbox": [-5.5, 51.3, -2.6, 53.5], "limit": 20});
        let in_order = |found, parameters: &Value| {
            Candidates::Many { found, of: 100_000 }.are_read_in_order(&search(parameters.clone()))
        };
        assert!(in_order(50_000, &in_box));
        assert!(!in_order(1_001, &in_box), "one in a hundred listings is found");
        assert!(!in_order(50_000, &json!({"query": "x"})));
        assert!(!in_order(50_000, &around(json!({"bbox": [-5.5, 51.3, -2.6, 53.5]}))), "nearest first");
        assert!(!Candidates::Few(Vec::new()).are_read_in_order(&search(in_box)));
    }

    #[test]
    fn rings_grow_with_the_rows_that_are_missing() {
        let rings = Rings { begin_km: 0.0, limit_km: f64::INFINITY, page_end: 20 };
        let km = rings.next_km(6.0, 15).unwrap();
        assert!((km - 12.0).abs() < 1e-9, "four times the area: {km}");
        let km = rings.next_km(6.0, 5).unwrap();
        assert!((km * km - 36.0 * 12.0).abs() < 1e-9, "three pages are expected: {km}");
        assert_eq!(rings.next_km(299.0, 0), Some(MAX_RING_KM));
        assert_eq!(rings.next_km(MAX_RING_KM, 0), None);
        assert_eq!(Rings { limit_km: 10.0, ..rings }.next_km(6.0, 15), None, "it saves too little");
        let later = Rings { begin_km: 8.0, ..rings };
        assert_eq!(later.first_km(), Some(10.0), "a ring of the same area");
    }

    #[test]
    fn branches_have_each_match_once() {
        let count = |parameters: Value| Branch::all(&search(parameters), &PageRequest::first()).len();
        assert_eq!(count(json!({})), 1);
        assert_eq!(count(json!({"f:commodityBreed": ["hereford"]})), 2, "as breed or breed type");
        assert_eq!(count(json!({"sortBy": "price"})), 2, "with and without a price");
        assert_eq!(count(json!({"sortBy": "age"})), 3, "of animals, of dogs, and without one");
        assert_eq!(count(json!({"sortBy": "age", "minAge": 2})), 2);
        assert_eq!(count(json!({"sortBy": "age", "f:commodityType": "sheep"})), 2);
        let dateline = json!({"latitude": 0, "longitude": 180, "distanceKm": 50});
        assert_eq!(count(dateline), 2, "east and west of the 180th meridian");
        assert_eq!(Branch::to_count(&search(json!({"sortBy": "age"}))).len(), 1);
    }
}
