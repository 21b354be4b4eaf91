//! The filters that compare ranges: ages and distances.

use database::Amount;

use super::model::FacetColumns;
use crate::listings::geo::{chord2, chord2_of};
use crate::listings::search::ListingSearch;

/// The values of a listing that range filters compare.
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    /// Point on the sphere of radius 1; NaN without coordinates.
    unit: [f64; 3],
    /// Ten-thousandths of a month; [`Measures::ABSENT`] without an age.
    min_age: i32,
    /// As `min_age`.
    max_age: i32,
    /// Day of birth, see `search_fields::day`; [`Measures::ABSENT`] without one.
    born: i32,
}

impl Measures {
    const ABSENT: i32 = i32::MIN;

    /// Converts the columns of a listing.
    pub fn of(columns: &FacetColumns) -> Self {
        let narrow = |number: Option<i64>| number.and_then(|n| i32::try_from(n).ok()).unwrap_or(Self::ABSENT);
        Self {
            unit: [columns.x, columns.y, columns.z].map(|part| part.unwrap_or(f64::NAN)),
            min_age: narrow(columns.min_age),
            max_age: narrow(columns.max_age),
            born: narrow(columns.born),
        }
    }
}

/// The range filters of a search.
#[derive(Debug)]
pub struct RangeFilters {
    /// The squared chord of the greatest distance.
    max_chord2: Option<f64>,
    /// The point that distances start from, on the sphere of radius 1.
    unit: [f64; 3],
    /// The age in ten-thousandths of a month, and the latest day of birth of a dog of that age.
    min_age: Option<(i64, i64)>,
    /// The age in ten-thousandths of a month, and the latest day of birth of a dog that is too old.
    max_age: Option<(i64, i64)>,
}

impl RangeFilters {
    /// Returns the range filters of a search, or `None` if it has none.
    pub fn of(search: &ListingSearch) -> Option<Self> {
        let born = |age: Option<Amount>, at: &dyn Fn(Amount) -> i64| age.map(|age| (age.scaled(), at(age)));
        let any = search.within_km().is_some() || search.min_age.is_some() || search.max_age.is_some();
        any.then(|| Self {
            max_chord2: search.within_km().map(chord2_of),
            unit: search.unit(),
            min_age: born(search.min_age, &|age| search.born_until(age)),
            max_age: born(search.max_age, &|age| search.born_after(age)),
        })
    }

    /// Returns whether a listing passes all filters.
    pub fn passes(&self, listing: &Measures) -> bool {
        let present = |number: i32| (number != Measures::ABSENT).then_some(i64::from(number));
        self.max_chord2.is_none_or(|max| chord2(listing.unit, self.unit) <= max)
            && self.min_age.is_none_or(|(age, until)| {
                present(listing.min_age).is_some_and(|a| a >= age)
                    || present(listing.born).is_some_and(|b| b <= until)
            })
            && self.max_age.is_none_or(|(age, after)| {
                present(listing.max_age).is_some_and(|a| a <= age)
                    || present(listing.born).is_some_and(|b| b > after)
            })
    }
}
