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

/// A rectangle of latitudes and longitudes in degrees, with its edges. It crosses the 180th meridian if its west
/// exceeds its east.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoundingBox {
    pub(crate) west: f64,
    pub(crate) south: f64,
    pub(crate) east: f64,
    pub(crate) north: f64,
}

impl BoundingBox {
    /// Returns the box of the coordinates whose [rounded](Point::rounded) ones lie in this box.
    pub(crate) fn before_rounding(self) -> Self {
        // Halves of a hundredth are rounded away from zero. Before that, coordinates are rounded to 1e-8 degrees.
        let half = |hundredths: f64, is_inside: bool| {
            let tolerance = if is_inside { -5e-9 } else { 5e-9 };
            hundredths / 100.0 + tolerance
        };
        let low = |edge: f64| {
            let first = (edge * 100.0 - 1e-7).ceil();
            half(first - 0.5, first > 0.0)
        };
        let high = |edge: f64| {
            let last = (edge * 100.0 + 1e-7).floor();
            half(last + 0.5, last >= 0.0)
        };
        let (west, east) = match (low(self.west), high(self.east)) {
            // Its edges have met: no rounded longitude lies outside the box.
            (west, east) if self.west > self.east && west <= east => (-180.0, 180.0),
            edges => edges,
        };
        Self { west, south: low(self.south), east, north: high(self.north) }
    }

    /// Returns the ranges of longitudes.
    fn longitudes(&self) -> Vec<RangeInclusive<f64>> {
        if self.west <= self.east {
            vec![self.west..=self.east]
        } else {
            vec![-180.0..=self.east, self.west..=180.0]
        }
    }

    /// Returns the range of the third part of [unit vectors](Point::unit_vector), which grows with the latitude.
    pub(crate) fn heights(&self) -> RangeInclusive<f64> {
        let height = |lat: f64| Point { lat: lat.clamp(-90.0, 90.0), lon: 0.0 }.unit_vector()[2];
        height(self.south)..=height(self.north)
    }

    /// Returns whether a longitude lies in the box.
    pub(crate) fn has_longitude(&self, lon: f64) -> bool {
        if self.west <= self.east {
            self.west <= lon && lon <= self.east
        } else {
            self.west <= lon || lon <= self.east
        }
    }

    /// Returns the area for an index.
    pub(crate) fn area(&self) -> BoundingArea {
        let bands = band(self.south.max(-90.0))..=band(self.north.min(90.0));
        BoundingArea { bands, longitudes: self.longitudes() }
    }
}

/// A place on the Web Mercator map, in 2^32 units each from west to east and from north to south. Latitudes beyond
/// 85.05 degrees are at its edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapPoint {
    pub(crate) x: u32,
    pub(crate) y: u32,
}

/// The units of a map in each direction.
const MAP_UNITS: f64 = 4_294_967_296.0;

/// Returns units of a map as a whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
fn map_units(part: f64) -> u32 {
    (part * MAP_UNITS) as u32
}

impl MapPoint {
    /// Stands for no place. No point is there: it is south of all others of its longitude.
    pub(crate) const NOWHERE: Self = Self { x: 0, y: u32::MAX };

    /// Returns the place of a point.
    pub(crate) fn of(point: Point) -> Self {
        let sin = point.lat.to_radians().sin();
        let mercator = ((1.0 + sin) / (1.0 - sin)).ln() / 2.0;
        let y = map_units(0.5 - mercator / std::f64::consts::TAU);
        Self { x: map_units((point.lon + 180.0) / 360.0), y: y.min(u32::MAX - 1) }
    }

    /// Returns the point with millionths of a degree.
    pub(crate) fn point(self) -> Point {
        let part = |units: u32| (f64::from(units) + 0.5) / MAP_UNITS;
        let mercator = (0.5 - part(self.y)) * std::f64::consts::TAU;
        let round = |degrees: f64| (degrees * 1e6).round() / 1e6;
        Point { lat: round(mercator.sinh().atan().to_degrees()), lon: round(part(self.x) * 360.0 - 180.0) }
    }
}

/// A box on a map, which may cross its edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapBox {
    start: MapPoint,
    width: u32,
    height: u32,
}

impl MapBox {
    /// Units by which a box is made wider or narrower: twice the differences between two conversions of a point.
    const MARGIN: u32 = 16;

    /// Returns a box that contains all points of another one, and few others.
    pub(crate) fn around(bbox: &BoundingBox) -> Self {
        let of = |lat: f64, lon: f64| MapPoint::of(Point { lat: lat.clamp(-90.0, 90.0), lon });
        let (start, end) = (of(bbox.north, bbox.west), of(bbox.south, bbox.east));
        let y = start.y.saturating_sub(Self::MARGIN);
        let width = match end.x.wrapping_sub(start.x) {
            // The whole globe but for a gap of less than a unit.
            0 if bbox.west > bbox.east => u32::MAX,
            width => width,
        };
        Self {
            start: MapPoint { x: start.x.wrapping_sub(Self::MARGIN), y },
            width: width.saturating_add(2 * Self::MARGIN),
            height: (end.y - y).saturating_add(Self::MARGIN),
        }
    }

    /// Returns whether the box has a point.
    #[inline]
    pub(crate) fn contains(self, x: u32, y: u32) -> bool {
        // Without a branch, so that many points are compared at once.
        (x.wrapping_sub(self.start.x) <= self.width) & (y.wrapping_sub(self.start.y) <= self.height)
    }

    /// Returns a box without the points at the edges of this one: the box that this one is around has all its points.
    /// `None` if there would be none.
    pub(crate) fn inner(self) -> Option<Self> {
        let MapPoint { x, y } = self.start;
        let start = MapPoint { x: x.wrapping_add(2 * Self::MARGIN), y: y.saturating_add(2 * Self::MARGIN) };
        let less = |length: u32| length.checked_sub(4 * Self::MARGIN);
        Some(Self { start, width: less(self.width)?, height: less(self.height)? })
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

    /// Returns the part that both areas have.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let bands = *self.bands.start().max(other.bands.start())..=*self.bands.end().min(other.bands.end());
        let common = |a: &RangeInclusive<f64>, b: &RangeInclusive<f64>| {
            let range = a.start().max(*b.start())..=a.end().min(*b.end());
            (!range.is_empty()).then_some(range)
        };
        let pairs = self.longitudes.iter().flat_map(|a| other.longitudes.iter().map(move |b| (a, b)));
        Self { bands, longitudes: pairs.filter_map(|(a, b)| common(a, b)).collect() }
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
        fn boxes_contain_what_lies_between_their_edges(a in point(), b in point(), c in point()) {
            let bbox = BoundingBox { west: a.lon, south: a.lat.min(b.lat), east: b.lon, north: a.lat.max(b.lat) };
            let is_east = if bbox.west <= bbox.east {
                bbox.west <= c.lon && c.lon <= bbox.east
            } else {
                c.lon >= bbox.west || c.lon <= bbox.east
            };
            let contains_in =
                |bbox: &BoundingBox, p: Point| bbox.has_longitude(p.lon) && bbox.heights().contains(&p.unit_vector()[2]);
            let contains = |p: Point| contains_in(&bbox, p);
            prop_assert_eq!(contains(c), is_east && bbox.south <= c.lat && c.lat <= bbox.north);
            prop_assert!(contains(a) && contains(b), "edges belong to it");
            let on_map = MapBox::around(&bbox);
            let MapPoint { x, y } = MapPoint::of(c);
            prop_assert!(!contains(c) || on_map.contains(x, y));
            prop_assert!(contains(c) || on_map.inner().is_none_or(|inner| !inner.contains(x, y)));
            let area = bbox.area();
            let in_area = |p: Point| area.bands.contains(&p.band()) && area.longitudes.iter().any(|range| range.contains(&p.lon));
            prop_assert!(!contains(c) || in_area(c));
            let rounded = |p: Point| Point::rounded(p.unit_vector());
            let Point { lat, lon } = rounded(c);
            let shown = bbox.west <= lon && lon <= bbox.east || bbox.west > bbox.east && (lon >= bbox.west || lon <= bbox.east);
            let shown = shown && bbox.south <= lat && lat <= bbox.north;
            prop_assert_eq!(contains_in(&bbox.before_rounding(), c), shown);
            let around = BoundingBox { west: lon, south: lat, east: lon, north: lat };
            prop_assert!(contains_in(&around.before_rounding(), c), "edges belong to it");
        }

        #[test]
        fn places_on_maps_convert_back(p in point()) {
            let back = MapPoint::of(p).point();
            let is_shown = p.lat.abs() < 85.0;
            prop_assert!((back.lon - p.lon).abs() < 1e-6 && (!is_shown || (back.lat - p.lat).abs() < 1e-6), "{back:?}");
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
