//! The numbers of listings that range filters compare and that statistics summarize.

use super::columns::Texts;
use super::model::FacetColumns;
use crate::listings::geo::{MapPoint, Point};

/// Stands for a number that a listing does not have.
const ABSENT: i32 = i32::MIN;

/// The ages of a listing. `schema.rs` has the units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ages {
    min: i32,
    max: i32,
    born: i32,
}

impl Ages {
    /// Converts the columns of a listing.
    pub(crate) fn of(columns: &FacetColumns) -> Self {
        let narrow = |number: Option<i64>| number.and_then(|n| i32::try_from(n).ok()).unwrap_or(ABSENT);
        Self { min: narrow(columns.min_age), max: narrow(columns.max_age), born: narrow(columns.born) }
    }

    /// Returns the lowest age.
    pub(crate) fn min(self) -> Option<i64> {
        present(self.min)
    }

    /// Returns the highest age.
    pub(crate) fn max(self) -> Option<i64> {
        present(self.max)
    }

    /// Returns the day of birth.
    pub(crate) fn born(self) -> Option<i64> {
        present(self.born)
    }
}

fn present(number: i32) -> Option<i64> {
    (number != ABSENT).then_some(i64::from(number))
}

/// The location of a listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// See [`Point::unit_vector`]; NaN without coordinates.
    pub(crate) unit_vector: [f64; 3],
    /// Degrees east; NaN without coordinates.
    pub(crate) lon: f64,
    /// The place of the [rounded](Point::rounded) coordinates, which visitors see.
    pub(crate) shown: MapPoint,
}

impl Place {
    /// Converts the columns of a listing. Also returns its place on the map.
    pub(crate) fn of(columns: &FacetColumns) -> (Self, MapPoint) {
        let (Some(x), Some(y), Some(z), Some(lon)) = (columns.x, columns.y, columns.z, columns.lon) else {
            let nowhere = MapPoint::NOWHERE;
            return (Self { unit_vector: [f64::NAN; 3], lon: f64::NAN, shown: nowhere }, nowhere);
        };
        let (unit_vector, lat) = ([x, y, z], z.clamp(-1.0, 1.0).asin().to_degrees());
        let shown = MapPoint::of(Point::rounded(unit_vector));
        (Self { unit_vector, lon, shown }, MapPoint::of(Point { lat, lon }))
    }
}

/// The amounts of the price of a listing, in ten-thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PriceRange {
    pub(crate) min: i64,
    pub(crate) max: i64,
    /// The number of the currency; [`PriceRange::NO_CURRENCY`] without amounts.
    pub(crate) currency: u8,
}

impl PriceRange {
    /// The currency of a price without amounts.
    pub(crate) const NO_CURRENCY: u8 = u8::MAX;

    /// Converts the columns of a listing.
    pub(crate) fn of(columns: &FacetColumns, texts: &mut Texts) -> Self {
        let currency = columns.currency.as_deref().map(|code| texts.currencies.intern(code));
        match (columns.price, columns.max_price, currency.and_then(|number| u8::try_from(number).ok())) {
            (Some(min), Some(max), Some(currency)) => Self { min, max, currency },
            _ => Self { min: 0, max: 0, currency: Self::NO_CURRENCY },
        }
    }
}
