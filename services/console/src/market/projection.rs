//! The projection of the map: Mercator, in units of the drawing. The build script draws the outline with it too.

/// Degrees east of the left and right edge of the whole map.
pub(crate) const WEST: f64 = -10.9;
pub(crate) const EAST: f64 = 2.3;
/// Degrees north of its upper and lower edge.
pub(crate) const NORTH: f64 = 60.95;
pub(crate) const SOUTH: f64 = 49.0;
/// The width of the whole map in units.
pub(crate) const WIDTH: f64 = 3_800.0;

/// Units for each degree of longitude.
pub(crate) const SCALE: f64 = WIDTH / (EAST - WEST);

/// Returns where a place is on the map, in units from the upper left corner.
pub(crate) fn project(longitude: f64, latitude: f64) -> (f64, f64) {
    ((longitude - WEST) * SCALE, stretched(NORTH) - stretched(latitude))
}

/// Returns the distance of a parallel from the equator, in units.
fn stretched(latitude: f64) -> f64 {
    let radians = latitude.to_radians();
    (radians.tan() + 1.0 / radians.cos()).ln().to_degrees() * SCALE
}
