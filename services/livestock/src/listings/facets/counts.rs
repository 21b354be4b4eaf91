//! The counts of the values of each filter, and the response that lists them (`docs/api/listings.md`, "Facets").
//!
//! Each filter is counted under all others: a listing that passes all filters counts for every filter, one that exactly
//! one filter rejects counts for that filter only.

use std::collections::BTreeMap;

use database::Amount;
use hashbrown::HashMap;
use serde::Serialize;
use strum::VariantNames;
use utoipa::ToSchema;

use super::columns::{Ages, Columns, Dictionary, PriceRange};
use super::filters::rejected;
use crate::categories::Categories;
use crate::listings::attributes::{AdditionalInfo, Sex};
use crate::listings::calendar::scaled_months_between;
use crate::listings::geo::{MapPoint, Point};
use crate::listings::search::StatusFilter;

/// Listings that are filtered and counted together: their bits stay in the fastest memory.
pub(crate) const BLOCK: usize = 1_024;

/// The counts of all filters, by the numbers that the columns have.
#[derive(Debug)]
pub(crate) struct Counts {
    statuses: [u32; 256],
    categories: [u32; 256],
    /// By all flags of a listing together: one increment for each listing instead of up to eight.
    sexes: [u32; 256],
    additional_info: [u32; 256],
    breeds: Vec<u32>,
    /// Breed types of the listings that count for the filter on breeds, except those that are also the breed: the
    /// filter finds them too.
    types_as_breeds: Vec<u32>,
    breed_types: Vec<u32>,
    societies: Vec<u32>,
    /// Listings that pass all filters.
    total: u32,
    /// The prices and ages of these listings.
    pub(crate) extents: Extents,
    /// The places in a block of the listings that pass all filters, and of those that count for one filter.
    passing: [u16; BLOCK],
    counted: [u16; BLOCK],
}

impl Counts {
    /// Creates counts of 0 for terms with numbers below `terms`.
    pub(crate) fn new(terms: usize) -> Self {
        Self {
            statuses: [0; 256],
            categories: [0; 256],
            sexes: [0; 256],
            additional_info: [0; 256],
            breeds: vec![0; terms],
            types_as_breeds: vec![0; terms],
            breed_types: vec![0; terms],
            societies: vec![0; terms],
            total: 0,
            extents: Extents::new(),
            passing: [0; BLOCK],
            counted: [0; BLOCK],
        }
    }

    /// Counts up to [`BLOCK`] listings from a slot on. `rejected_by` has the bits of [`rejected`] for each of them,
    /// `present` those of the filters that the search has.
    pub(crate) fn add(
        &mut self,
        columns: &Columns,
        (ages, prices): (&[Ages], &[PriceRange]),
        start: usize,
        rejected_by: &[u8],
        present: u8,
    ) {
        let range = start..start + rejected_by.len();
        let passing = select(rejected_by, 0, &mut self.passing);
        self.total += u32::try_from(passing.len()).unwrap_or_default();
        // The listings that count for a filter. Those of filters that the search does not have are the same.
        let places = &mut self.counted;
        let mut counted_for = |filter: u8, count: &mut dyn FnMut(&[u16])| {
            count(if present & filter == 0 { passing } else { select(rejected_by, filter, places) });
        };
        for (filter, column, counts) in [
            (rejected::STATUS, &columns.status, &mut self.statuses),
            (rejected::COMMODITY_TYPE, &columns.category, &mut self.categories),
            (rejected::SEX, &columns.sexes, &mut self.sexes),
            (rejected::ADDITIONAL_INFO, &columns.additional_info, &mut self.additional_info),
        ] {
            let column = &column[range.clone()];
            counted_for(filter, &mut |listings| {
                for at in listings {
                    counts[usize::from(column[usize::from(*at)])] += 1;
                }
            });
        }
        let (breeds, types) = (&columns.breed[range.clone()], &columns.breed_type[range.clone()]);
        counted_for(rejected::BREED, &mut |listings| {
            for at in listings {
                let (breed, breed_type) = (breeds[usize::from(*at)], types[usize::from(*at)]);
                self.breeds[breed as usize] += 1;
                if breed_type != breed {
                    self.types_as_breeds[breed_type as usize] += 1;
                }
            }
        });
        for (filter, column, counts) in [
            (rejected::BREED_TYPE, &columns.breed_type, &mut self.breed_types),
            (rejected::SOCIETY, &columns.society, &mut self.societies),
        ] {
            let column = &column[range.clone()];
            counted_for(filter, &mut |listings| {
                for at in listings {
                    counts[column[usize::from(*at)] as usize] += 1;
                }
            });
        }
        self.extents.add(&ages[range.clone()], &prices[range], passing);
    }
}

/// Returns the places of the listings that no filter but `filter` rejects.
#[inline]
fn select<'a>(rejected_by: &[u8], filter: u8, places: &'a mut [u16; BLOCK]) -> &'a [u16] {
    let mut len = 0;
    for (at, bits) in (0..).zip(rejected_by) {
        // Without a branch: which listings pass cannot be predicted.
        places[len % BLOCK] = at;
        len += usize::from(bits & !filter == 0);
    }
    &places[..len]
}

/// Converts counts by all flags together to counts by single flag.
fn by_flag(
    values: &'static [&'static str],
    counts: &[u32; 256],
) -> impl Iterator<Item = (&'static str, u32)> {
    let with = |bit: usize| counts.iter().enumerate().filter(move |(flags, _)| flags >> bit & 1 == 1);
    values.iter().enumerate().map(move |(bit, value)| (*value, with(bit).map(|(_, count)| count).sum()))
}

/// Values that the response lists of a filter.
const MAX_VALUES: usize = 500;
/// Characters of a listed value: the limit of a breed. Old listings may have longer breeds.
const MAX_VALUE_CHARS: usize = 60;

/// The values of the filters of a search, and the number of listings that each would leave. At most 300 kB: breeds and
/// societies have up to 500 values of 60 characters each, the values of the other filters are fixed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Facets<'a> {
    /// For each filter its 500 most frequent values, most frequent first. A count is the number of listings that the
    /// value would leave under all other filters of the request. Drafts and cancelled listings have no value of
    /// `f:status`; the other filters count them where the search finds them.
    filters: BTreeMap<&'static str, Vec<Facet<'a>>>,
    /// The number of listings that the same search finds.
    total: u32,
    /// Their prices and ages; absent if they have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stats: Option<Stats<'a>>,
    /// `true` if a filter has more values than are listed; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    truncated: bool,
}

/// A value of a filter.
#[derive(Debug, Serialize, ToSchema)]
struct Facet<'a> {
    /// The value that the filter takes.
    value: &'a str,
    /// The number of listings that the value would leave.
    count: u32,
}

impl<'a> Facets<'a> {
    /// Selects the values to list. `spelling` returns the text of the term with a number, if it has one.
    pub(crate) fn new(
        counts: &Counts,
        stats: Option<Stats<'a>>,
        categories: &'a Categories,
        spelling: impl Fn(u32) -> Option<&'a str>,
    ) -> Self {
        let spelled = |counts: &mut dyn Iterator<Item = u32>| {
            let counted = (0..).zip(counts).filter(|(_, count)| *count > 0);
            most_frequent(counted.filter_map(|(term, count)| Some((spelling(term)?, count))))
        };
        // Only breeds are listed, but the filter finds breed types too.
        let breeds = counts.breeds.iter().zip(&counts.types_as_breeds);
        let mut breeds = breeds.map(|(breed, others)| if *breed == 0 { 0 } else { breed + others });
        let statuses = StatusFilter::COUNTED.map(StatusFilter::as_str).into_iter().zip(counts.statuses);
        let with_name = |(id, count)| Some((categories.main_name(&[id])?, count));
        let main_categories = (0..).zip(counts.categories).filter_map(with_name);
        let filters = [
            ("f:status", most_frequent(statuses)),
            ("f:commodityType", most_frequent(main_categories)),
            ("f:commodityBreed", spelled(&mut breeds)),
            ("f:breedType", spelled(&mut counts.breed_types.iter().copied())),
            ("f:commodityBreedSociety", spelled(&mut counts.societies.iter().copied())),
            ("f:commoditySexes", most_frequent(by_flag(Sex::VARIANTS, &counts.sexes))),
            (
                "f:commodityAdditionalInfo",
                most_frequent(by_flag(AdditionalInfo::VARIANTS, &counts.additional_info)),
            ),
        ];
        let truncated = filters.iter().any(|(_, (_, complete))| !complete);
        let filters = filters.into_iter().map(|(filter, (values, _))| (filter, values)).collect();
        Self { filters, total: counts.total, stats, truncated }
    }
}

/// Returns the values to list, and whether these are all: the most frequent values that are short and have no comma.
fn most_frequent<'a>(counts: impl Iterator<Item = (&'a str, u32)>) -> (Vec<Facet<'a>>, bool) {
    let counted = counts.filter(|(_, count)| *count > 0).map(|(value, count)| Facet { value, count });
    // Commas separate the values of a filter, so no filter can name a value that has one.
    let (mut values, others): (Vec<_>, Vec<_>) = counted
        .partition(|facet| facet.value.chars().count() <= MAX_VALUE_CHARS && !facet.value.contains(','));
    let is_complete = others.is_empty() && values.len() <= MAX_VALUES;
    let order = |a: &Facet<'_>, b: &Facet<'_>| b.count.cmp(&a.count).then_with(|| a.value.cmp(b.value));
    if values.len() > MAX_VALUES {
        values.select_nth_unstable_by(MAX_VALUES, order);
        values.truncate(MAX_VALUES);
    }
    values.sort_unstable_by(order);
    (values, is_complete)
}

/// The lowest and the highest number that were added.
#[derive(Clone, Copy, Debug)]
struct Extent {
    count: u32,
    min: i64,
    max: i64,
}

impl Default for Extent {
    fn default() -> Self {
        Self { count: 0, min: i64::MAX, max: i64::MIN }
    }
}

impl Extent {
    #[inline]
    fn add(&mut self, min: i64, max: i64) {
        self.count += 1;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    fn amounts(self) -> Option<(Amount, Amount)> {
        Amount::from_scaled(self.min).zip(Amount::from_scaled(self.max))
    }
}

/// The prices and ages of the listings that pass all filters.
#[derive(Debug)]
pub(crate) struct Extents {
    /// By number of the currency.
    prices: Vec<Extent>,
    ages: Extent,
    /// Days of birth.
    births: Extent,
}

impl Extents {
    /// Creates extents without listings.
    pub(crate) fn new() -> Self {
        let prices = vec![Extent::default(); usize::from(PriceRange::NO_CURRENCY) + 1];
        Self { prices, ages: Extent::default(), births: Extent::default() }
    }

    /// Adds those of the listings whose places are given.
    pub(crate) fn add(&mut self, ages: &[Ages], prices: &[PriceRange], places: &[u16]) {
        for at in places {
            let (ages, price) = (ages[usize::from(*at)], prices[usize::from(*at)]);
            self.prices[usize::from(price.currency)].add(price.min, price.max);
            if let Some(born) = ages.born() {
                self.births.add(born, born);
            } else if let (Some(min), Some(max)) = (ages.min().or(ages.max()), ages.max().or(ages.min())) {
                self.ages.add(min, max);
            }
        }
    }

    /// Returns the statistics, or `None` without a price and an age. `today` is the [day](crate::listings::day) for
    /// which the ages of dogs are computed.
    pub(crate) fn stats<'a>(&self, currencies: &'a Dictionary, today: i64) -> Option<Stats<'a>> {
        let code = |number: usize| u32::try_from(number).map_or("", |number| currencies.get(number));
        let known = self.prices[..usize::from(PriceRange::NO_CURRENCY)].iter().enumerate();
        let counted = known.filter(|(_, extent)| extent.count > 0);
        let most_frequent =
            counted.max_by(|(a, x), (b, y)| x.count.cmp(&y.count).then_with(|| code(*b).cmp(code(*a))));
        let price = most_frequent.and_then(|(currency, extent)| {
            let (minimum, maximum) = extent.amounts()?;
            Some(PriceStats { minimum, maximum, currency: code(currency) })
        });
        let mut ages = self.ages;
        if self.births.count > 0 {
            let age = |born| scaled_months_between(born, today);
            ages.add(age(self.births.max), age(self.births.min));
        }
        let age = (ages.count > 0).then(|| ages.amounts()).flatten();
        let age = age.map(|(minimum, maximum)| AgeStats { minimum, maximum });
        (price.is_some() || age.is_some()).then_some(Stats { price, age })
    }
}

/// The prices and ages of the listings that a search finds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Stats<'a> {
    /// Absent if no listing has an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    price: Option<PriceStats<'a>>,
    /// Absent if no listing has an age.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    age: Option<AgeStats>,
}

/// The prices in the currency that most of the listings have; of several such currencies, the first by its code.
#[derive(Debug, Serialize, ToSchema)]
struct PriceStats<'a> {
    /// The lowest price. That of a range is its `minPrice`.
    #[schema(value_type = f64)]
    minimum: Amount,
    /// The highest price. That of a range is its `maxPrice`.
    #[schema(value_type = f64)]
    maximum: Amount,
    /// The ISO 4217 code.
    currency: &'a str,
}

/// The ages in months.
#[derive(Debug, Serialize, ToSchema)]
struct AgeStats {
    /// The lowest age.
    #[schema(value_type = f64)]
    minimum: Amount,
    /// The highest age.
    #[schema(value_type = f64)]
    maximum: Amount,
}

/// A map at zoom 0 has this many halvings of its sides more than the zoom of the request.
const TILE_ZOOM: u32 = 3;

/// The listings of a search on a map.
#[derive(Debug)]
pub(crate) struct MapCounts {
    /// The cells with listings, those with most first.
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) without_coordinates: u32,
}

/// The listings of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cluster {
    pub(crate) count: u32,
    /// The mean of their places on the map.
    pub(crate) point: Point,
}

/// The listings in each cell of a map.
#[derive(Debug)]
pub(crate) struct Cells {
    /// Bits of a unit of the map within a cell.
    shift: u32,
    sums: HashMap<[u32; 2], Sum>,
}

#[derive(Debug, Default)]
struct Sum {
    count: u32,
    x: u64,
    y: u64,
}

impl Cells {
    /// Creates the cells of a zoom from 0 to 16.
    pub(crate) fn new(zoom: u32) -> Self {
        Self { shift: u32::BITS.saturating_sub(zoom + TILE_ZOOM), sums: HashMap::new() }
    }

    /// Adds a listing.
    #[inline]
    pub(crate) fn add(&mut self, MapPoint { x, y }: MapPoint) {
        let sum = self.sums.entry([x >> self.shift, y >> self.shift]).or_default();
        sum.count += 1;
        sum.x += u64::from(x);
        sum.y += u64::from(y);
    }

    /// Returns the cells with listings, those with most first, then from west to east and from north to south.
    pub(crate) fn into_clusters(self) -> Vec<Cluster> {
        let mut sums: Vec<_> = self.sums.into_iter().collect();
        sums.sort_unstable_by(|(a, x), (b, y)| y.count.cmp(&x.count).then_with(|| a.cmp(b)));
        let cluster = |(_, sum): ([u32; 2], Sum)| {
            let mean = |total: u64| u32::try_from(total / u64::from(sum.count)).unwrap_or(u32::MAX);
            Cluster { count: sum.count, point: MapPoint { x: mean(sum.x), y: mean(sum.y) }.point() }
        };
        sums.into_iter().map(cluster).collect()
    }
}
