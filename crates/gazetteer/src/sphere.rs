//! Points on the earth as vectors of length one, in which the date line and the poles are nothing special.
//! `build/` plants the tree of places in this space, the library searches it: both with this file.

/// Mean radius of the earth in kilometres.
const EARTH_KM: f64 = 6371.0088;

/// Kilometres of a degree of latitude.
pub const KILOMETRES_PER_DEGREE: f64 = EARTH_KM * std::f64::consts::PI / 180.0;

/// A point on the unit sphere.
pub type Vector = [f64; 3];

/// The point at WGS84 degrees.
pub fn vector(lat: f64, lon: f64) -> Vector {
    let ((sin_lat, cos_lat), (sin_lon, cos_lon)) = (lat.to_radians().sin_cos(), lon.to_radians().sin_cos());
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

/// Square of the straight line between two points: orders as the distance does.
pub fn chord2(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Kilometres over ground of a squared chord.
pub fn kilometres(chord2: f64) -> f64 {
    2.0 * EARTH_KM * (chord2.sqrt() / 2.0).min(1.0).asin()
}
