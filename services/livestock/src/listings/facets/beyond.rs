//! The filters that compare more than equality: ages and distances.

use database::Amount;

use super::super::geo::{chord2, chord2_of};
use super::super::search::Search;
use super::store::Row;

/// What they compare of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    /// On the sphere of radius 1; not numbers where it has no place.
    unit: [f64; 3],
    /// Ten-thousandths of a month, and the number of a day; [`Measures::NEVER`] for none.
    min_age: i32,
    max_age: i32,
    born: i32,
}

impl Measures {
    const NEVER: i32 = i32::MIN;

    pub fn of(row: &Row) -> Self {
        let small = |number: Option<i64>| number.and_then(|n| i32::try_from(n).ok()).unwrap_or(Self::NEVER);
        Self {
            unit: [row.x, row.y, row.z].map(|part| part.unwrap_or(f64::NAN)),
            min_age: small(row.min_age),
            max_age: small(row.max_age),
            born: small(row.born),
        }
    }
}

/// Such filters of a search.
#[derive(Debug)]
pub struct RangeFilters {
    /// The square of the straight line to the farthest.
    reach: Option<f64>,
    unit: [f64; 3],
    /// An age, and the day of birth that is as good.
    min_age: Option<(i64, i64)>,
    max_age: Option<(i64, i64)>,
}

impl RangeFilters {
    /// None if it has none of them.
    pub fn of(search: &Search) -> Option<Self> {
        let born = |age: Option<Amount>, at: &dyn Fn(Amount) -> i64| age.map(|age| (age.scaled(), at(age)));
        let any = search.within_km().is_some() || search.min_age.is_some() || search.max_age.is_some();
        any.then(|| Self {
            reach: search.within_km().map(chord2_of),
            unit: search.unit(),
            min_age: born(search.min_age, &|age| search.born_until(age)),
            max_age: born(search.max_age, &|age| search.born_after(age)),
        })
    }

    /// Whether all of them let it pass.
    pub fn passes(&self, listing: &Measures) -> bool {
        let known = |number: i32| (number != Measures::NEVER).then_some(i64::from(number));
        self.reach.is_none_or(|reach| chord2(listing.unit, self.unit) <= reach)
            && self.min_age.is_none_or(|(age, until)| {
                known(listing.min_age).is_some_and(|a| a >= age)
                    || known(listing.born).is_some_and(|b| b <= until)
            })
            && self.max_age.is_none_or(|(age, after)| {
                known(listing.max_age).is_some_and(|a| a <= age)
                    || known(listing.born).is_some_and(|b| b > after)
            })
    }
}
