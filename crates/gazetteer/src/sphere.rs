//! Points on the earth as unit vectors, which need no special cases at the date line and the poles.
//!
//! `build/` builds the tree of places with this file, and the library searches it.

/// Mean radius of the earth in kilometres.
const EARTH_RADIUS_KM: f64 = 6371.0088;

/// Length of a degree of latitude in kilometres.
pub(crate) const KILOMETRES_PER_DEGREE: f64 = EARTH_RADIUS_KM * std::f64::consts::PI / 180.0;

/// A point on the unit sphere.
pub(crate) type Vector = [f64; 3];

/// Converts a latitude and a longitude in degrees.
pub(crate) fn vector(lat: f64, lon: f64) -> Vector {
    let ((sin_lat, cos_lat), (sin_lon, cos_lon)) = (lat.to_radians().sin_cos(), lon.to_radians().sin_cos());
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

/// Returns the square of the chord between two points. Squared chords sort as distances do.
pub(crate) fn squared_chord(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Converts a squared chord to the great-circle distance in kilometres.
pub(crate) fn kilometres(squared_chord: f64) -> f64 {
    2.0 * EARTH_RADIUS_KM * (squared_chord.sqrt() / 2.0).min(1.0).asin()
}
