//! The statistics of the listings that a search finds (`docs/api/listings.md`, "Facets").

use database::Amount;
use serde::Serialize;
use utoipa::ToSchema;

use super::dictionary::Dictionary;
use super::measures::{Ages, PriceRange};
use crate::listings::calendar::scaled_months_between;

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
