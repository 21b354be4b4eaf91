//! The filters that compare ranges: ages and distances.

use database::{Amount, Timestamp};
use serde::{Deserialize, Serialize};

use super::model::FacetColumns;
use crate::listings::geo::{MAX_ROUNDING_KM, Point, squared_chord, squared_chord_of};
use crate::listings::search::{ListingSearch, born_after, born_until};

/// The values of a listing that range filters compare.
///
/// Snapshots contain them: a change of the fields needs a new `snapshot::model::FORMAT`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Measures {
    /// See [`Point::unit_vector`](crate::listings::geo::Point::unit_vector); NaN without coordinates.
    unit_vector: [f64; 3],
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
    pub(crate) fn of(columns: &FacetColumns) -> Self {
        let narrow = |number: Option<i64>| number.and_then(|n| i32::try_from(n).ok()).unwrap_or(Self::ABSENT);
        Self {
            unit_vector: [columns.x, columns.y, columns.z].map(|part| part.unwrap_or(f64::NAN)),
            min_age: narrow(columns.min_age),
            max_age: narrow(columns.max_age),
            born: narrow(columns.born),
        }
    }
}

/// The range filters of a search.
#[derive(Debug)]
pub(crate) struct RangeFilters {
    /// The greatest distance.
    within: Option<Within>,
    /// Dogs pass that were born on the day or before it.
    min_age: Option<AgeLimit>,
    /// Dogs pass that were born after the day.
    max_age: Option<AgeLimit>,
}

/// A limit of distances.
#[derive(Debug)]
struct Within {
    /// The unit vector of the point that distances start from.
    origin: [f64; 3],
    max_squared_chord: f64,
    /// For a public search: the squared chords below which a listing is within the distance, and above which it is not,
    /// wherever its rounded coordinates are.
    certain: Option<[f64; 2]>,
}

impl Within {
    fn of(search: &ListingSearch) -> Option<Self> {
        let km = search.within_km()?;
        // An inner area of a negative distance is empty.
        let inner = if km > MAX_ROUNDING_KM { squared_chord_of(km - MAX_ROUNDING_KM) } else { -1.0 };
        let certain = search.is_public().then(|| [inner, squared_chord_of(km + MAX_ROUNDING_KM)]);
        Some(Self { origin: search.origin(), max_squared_chord: squared_chord_of(km), certain })
    }

    /// Returns whether a listing with this unit vector is within the distance.
    fn contains(&self, unit_vector: [f64; 3]) -> bool {
        let chord = squared_chord(unit_vector, self.origin);
        match self.certain {
            None => chord <= self.max_squared_chord,
            Some([inner, _]) if chord <= inner => true,
            Some([_, outer]) if chord > outer => false,
            Some(_) => {
                squared_chord(Point::rounded(unit_vector).unit_vector(), self.origin)
                    <= self.max_squared_chord
            }
        }
    }
}

/// A limit of ages, for listings with an age and for dogs with a day of birth.
#[derive(Debug)]
struct AgeLimit {
    /// Months.
    age: Amount,
    /// Day of birth, see `search_fields::day`.
    born: i64,
}

impl RangeFilters {
    /// Returns the range filters of a search, or `None` if it has none.
    pub(crate) fn of(search: &ListingSearch) -> Option<Self> {
        let limit = |age, born| AgeLimit { age, born };
        let any = search.within_km().is_some() || search.min_age.is_some() || search.max_age.is_some();
        any.then(|| Self {
            within: Within::of(search),
            min_age: search.min_age.map(|age| limit(age, search.born_until(age))),
            max_age: search.max_age.map(|age| limit(age, search.born_after(age))),
        })
    }

    /// Changes the time that dogs' ages are computed for.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        if let Some(limit) = &mut self.min_age {
            limit.born = born_until(limit.age, now);
        }
        if let Some(limit) = &mut self.max_age {
            limit.born = born_after(limit.age, now);
        }
    }

    /// Returns whether a listing passes all filters.
    pub(crate) fn passes(&self, listing: &Measures) -> bool {
        let present = |number: i32| (number != Measures::ABSENT).then_some(i64::from(number));
        self.within.as_ref().is_none_or(|within| within.contains(listing.unit_vector))
            && self.min_age.as_ref().is_none_or(|limit| {
                present(listing.min_age).is_some_and(|age| age >= limit.age.scaled())
                    || present(listing.born).is_some_and(|born| born <= limit.born)
            })
            && self.max_age.as_ref().is_none_or(|limit| {
                present(listing.max_age).is_some_and(|age| age <= limit.age.scaled())
                    || present(listing.born).is_some_and(|born| born > limit.born)
            })
    }
}
