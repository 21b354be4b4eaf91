//! Great-circle distances on a sphere with a radius of 6,371.0088 km (`docs/api/listings.md`, "Search").
//!
//! Queries compare the squared chord: the square of the straight line between two points on the sphere of radius 1,
//! which are given by their unit vectors. It grows with the distance and needs only multiplication, so both databases
//! compute the same bits.

use std::ops::RangeInclusive;

/// The radius of the globe.
const RADIUS_KM: f64 = 6_371.008_8;
/// Steps per radius to which coordinates on the sphere are rounded: 2^40.
const GRID: f64 = 1_099_511_627_776.0;
/// Up to 64 bands are listed in a statement. The list is padded to one of these lengths, so that few different
/// statements are prepared. With a list, the index reads the range of longitudes of each band. More bands are compared
/// as one range.
const BAND_LIST_LENGTHS: [usize; 2] = [16, 64];

/// The most cells that a query merges.
const MAX_CELLS: usize = 6;

/// How far [`Point::rounded`] moves a point at most, in kilometres: half a hundredth of a degree in both directions.
pub(crate) const MAX_ROUNDING_KM: f64 = 0.8;

/// A point on the globe (WGS 84).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Degrees north.
    pub(crate) lat: f64,
    /// Degrees east.
    pub(crate) lon: f64,
}

impl Point {
    /// Returns the unit vector from the centre of the globe to the point, rounded to some micrometres on the globe.
    ///
    /// The rounding turns the smallest values into zero, so that PostgreSQL does not fail with an underflow when it
    /// multiplies differences. Equal distances are then equal to the bit.
    pub(crate) fn unit_vector(self) -> [f64; 3] {
        let (lat, lon) = (self.lat.to_radians(), self.lon.to_radians());
        [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()].map(|part| (part * GRID).round() / GRID)
    }

    /// Returns the point of a unit vector with both coordinates rounded to hundredths of a degree, so that it does not
    /// show which farm it is. Visitors without a token get no other coordinates and distances.
    pub(crate) fn rounded([x, y, z]: [f64; 3]) -> Self {
        // First to a millionth, because the coordinates of a unit vector differ a little from those it was made of.
        let round = |radians: f64| ((radians.to_degrees() * 1e8).round() / 1e6).round() / 100.0 + 0.0;
        Self { lat: round(z.clamp(-1.0, 1.0).asin()), lon: round(y.atan2(x)) }
    }

    /// Returns the latitude in tenths of a degree, rounded down.
    pub(crate) fn band(self) -> i32 {
        band(self.lat)
    }

    /// Returns an area that contains every point within `km` kilometres.
    pub(crate) fn around(self, km: f64) -> BoundingArea {
        // The margin keeps points on the edge despite rounding.
        let angle = (km / RADIUS_KM + 1e-9).min(std::f64::consts::PI);
        let reach = angle.to_degrees();
        let (south, north) = (self.lat - reach, self.lat + reach);
        let bands = band(south.max(-90.0))..=band(north.min(90.0));
        let ratio = angle.sin() / self.lat.to_radians().cos();
        // An area with a pole contains all longitudes.
        let all = south <= -90.0 || north >= 90.0 || ratio.is_nan() || ratio >= 1.0;
        let width = ratio.asin().to_degrees() + 1e-9;
        let (west, east) = (self.lon - width, self.lon + width);
        let longitudes = match () {
            () if all => vec![-180.0..=180.0],
            () if west < -180.0 => vec![-180.0..=east, west + 360.0..=180.0],
            () if east > 180.0 => vec![-180.0..=east - 360.0, west..=180.0],
            () => vec![west..=east],
        };
        BoundingArea { bands, longitudes }
    }
}

/// An area that an index can find: bands of latitude and ranges of longitude.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BoundingArea {
    /// Tenths of a degree of latitude, see [`Point::band`].
    pub(crate) bands: RangeInclusive<i32>,
    /// Degrees east. Two disjoint ranges if the area crosses the 180th meridian.
    pub(crate) longitudes: Vec<RangeInclusive<f64>>,
}

impl BoundingArea {
    /// Returns all bands if they are few, padded with bands that do not exist to one of two lengths. Returns `None` for
    /// more bands.
    pub(crate) fn few_bands(&self) -> Option<Vec<i32>> {
        let mut bands: Vec<_> = self.bands.clone().collect();
        let count = BAND_LIST_LENGTHS.into_iter().find(|count| bands.len() <= *count)?;
        bands.extend((1_000..).take(count - bands.len()));
        Some(bands)
    }

    /// Returns the cells of the area if they are few.
    pub(crate) fn few_cells(&self) -> Option<Vec<Cell>> {
        let rows = cell_row(*self.bands.start())..=cell_row(*self.bands.end());
        let columns = self
            .longitudes
            .iter()
            .flat_map(|range| cell_column(range.start().max(-180.0))..=cell_column(range.end().min(180.0)));
        let cells = columns.flat_map(|column| rows.clone().map(move |row| Cell { row, column }));
        let cells: Vec<_> = cells.take(MAX_CELLS + 1).collect();
        (cells.len() <= MAX_CELLS).then_some(cells)
    }
}

/// A part of the globe, one degree of latitude by two degrees of longitude. An index has the listings of each in the
/// order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    /// Degrees of latitude from the South Pole, rounded down.
    pub(crate) row: i32,
    /// Half the degrees of longitude from the 180th meridian, rounded down.
    pub(crate) column: i32,
}

impl Cell {
    /// Returns the cell of a listing from its columns: the band, and degrees east.
    pub(crate) fn of(band: i32, lon: f64) -> Self {
        Self { row: cell_row(band), column: cell_column(lon) }
    }
}

/// Returns the row of the cells with a band.
fn cell_row(band: i32) -> i32 {
    (band + 900) / 10
}

/// Returns the column of the cells with a longitude.
#[expect(clippy::cast_possible_truncation, reason = "0..=180")]
fn cell_column(lon: f64) -> i32 {
    f64::midpoint(lon, 180.0) as i32
}

#[expect(clippy::cast_possible_truncation, reason = "-900..=900")]
fn band(lat: f64) -> i32 {
    (lat * 10.0).floor() as i32
}

/// Returns the squared chord between the ends of two unit vectors, in the order of operations of the queries.
pub(crate) fn squared_chord(from: [f64; 3], to: [f64; 3]) -> f64 {
    let [x, y, z] = [0, 1, 2].map(|i| from[i] - to[i]);
    x * x + y * y + z * z
}

/// Returns the distance between the ends of two unit vectors in kilometres, rounded to metres.
pub(crate) fn distance_km(from: [f64; 3], to: [f64; 3]) -> f64 {
    (km_of(squared_chord(from, to)) * 1000.0).round() / 1000.0
}

/// Converts a distance in kilometres to the squared chord.
pub(crate) fn squared_chord_of(km: f64) -> f64 {
    let half = (km / RADIUS_KM / 2.0).min(std::f64::consts::FRAC_PI_2);
    4.0 * half.sin() * half.sin()
}

/// Converts a squared chord to a distance in kilometres.
pub(crate) fn km_of(squared_chord: f64) -> f64 {
    2.0 * RADIUS_KM * (squared_chord.sqrt() / 2.0).min(1.0).asin()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the distance in kilometres by the haversine formula.
    fn haversine(a: Point, b: Point) -> f64 {
        let [from, to] = [a, b].map(|point| point.lat.to_radians());
        let half = |angle: f64| (angle / 2.0).sin().powi(2);
        let sum = half(to - from) + from.cos() * to.cos() * half((b.lon - a.lon).to_radians());
        2.0 * RADIUS_KM * sum.sqrt().min(1.0).asin()
    }

    fn point() -> impl Strategy<Value = Point> {
        (-90.0..=90.0, -180.0..=180.0).prop_map(|(lat, lon)| Point { lat, lon })
    }

    proptest! {
        #[test]
        fn distances_equal_the_haversine_formula(a in point(), b in point()) {
            let km = km_of(squared_chord(a.unit_vector(), b.unit_vector()));
            prop_assert!((km - haversine(a, b)).abs() < 0.01, "{km}");
        }

        #[test]
        fn rounding_moves_a_point_a_little(a in point()) {
            let [exact, rounded] = [a, Point::rounded(a.unit_vector())].map(Point::unit_vector);
            prop_assert!(distance_km(exact, rounded) <= MAX_ROUNDING_KM);
            prop_assert!(distance_km(Point::rounded(rounded).unit_vector(), rounded) < 0.001);
        }

        #[test]
        fn chords_convert_back_to_their_distance(km in 0.0..20_000.0) {
            prop_assert!((km_of(squared_chord_of(km)) - km).abs() < 0.001);
        }

        #[test]
        fn bounding_areas_contain_all_points_within_the_distance(a in point(), b in point(), more in 1.0..1.5) {
            let around = a.around(haversine(a, b) * more);
            prop_assert!(around.bands.contains(&b.band()));
            if let Some(cells) = around.few_cells() {
                let cell = Cell::of(b.band(), b.lon);
                prop_assert_eq!(cells.iter().filter(|other| **other == cell).count(), 1);
            }
            let within: Vec<_> = around.longitudes.iter().filter(|range| range.contains(&b.lon)).collect();
            prop_assert_eq!(within.len(), 1);
        }
    }

    #[test]
    fn rounds_coordinates_to_hundredths_of_a_degree() {
        for (lat, lon, rounded) in [
            (51.9469, -3.3915, (51.95, -3.39)),
            (51.945, -3.395, (51.95, -3.4)),
            (-0.004, 0.004, (0.0, 0.0)),
            (90.0, 0.0, (90.0, 0.0)),
            (0.0, 179.999, (0.0, 180.0)),
        ] {
            let Point { lat, lon } = Point::rounded(Point { lat, lon }.unit_vector());
            assert_eq!((lat, lon), rounded);
            assert!(lat.is_sign_positive() || lat < 0.0, "{lat}");
        }
    }

    #[test]
    fn areas_of_50_km_have_few_cells() {
        for (lat, lon, count) in
            [(52.2, -2.7, Some(4)), (51.5, 1.0, Some(1)), (-17.0, 179.9, Some(6)), (85.0, 1.0, None)]
        {
            let cells = Point { lat, lon }.around(50.0).few_cells();
            assert_eq!(cells.as_ref().map(Vec::len), count, "{lat} {lon} {cells:?}");
        }
        assert_eq!(Point { lat: 51.0, lon: -3.0 }.around(20_000.0).few_cells(), None);
    }

    #[test]
    fn tiny_differences_do_not_underflow() {
        let between = |[lat, lon]: [f64; 2], [to_lat, to_lon]: [f64; 2]| {
            km_of(squared_chord(
                Point { lat, lon }.unit_vector(),
                Point { lat: to_lat, lon: to_lon }.unit_vector(),
            ))
        };
        for (from, to, km) in [
            ([1e-200, 1e-320], [0.0, 0.0], 0.0..=0.0),
            ([90.0, 0.0], [90.0, 120.0], 0.0..=0.0),
            ([0.0, 0.0], [0.0, 1e-7], 1.0e-5..=1.2e-5),
        ] {
            assert!(km.contains(&between(from, to)), "{from:?} {to:?}");
        }
    }

    #[test]
    fn bounding_areas_cross_the_180th_meridian_and_the_poles() {
        let fiji = Point { lat: -17.0, lon: 179.9 }.around(50.0);
        assert_eq!(fiji.longitudes.len(), 2);
        assert_eq!(fiji.bands, -175..=-166);
        assert_eq!(Point { lat: 89.9, lon: 12.0 }.around(50.0).longitudes, [-180.0..=180.0]);
        assert_eq!(Point { lat: 90.0, lon: 0.0 }.around(1.0).bands, 899..=900);
        let all = Point { lat: 51.0, lon: -3.0 }.around(20_000.0);
        assert_eq!((all.bands.clone(), all.few_bands()), (-900..=900, None));
    }
}
