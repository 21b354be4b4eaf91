//! The border of Ireland and the United Kingdom.

use crate::layout::{Column, Coordinates};
use crate::tables::IRISH_BORDER;

/// Corners at sea that close the border to a ring around Northern Ireland: latitude and longitude in degrees, from the
/// Atlantic to the Irish Sea.
const SEA: [(f64, f64); 3] = [(56.0, -6.7443), (56.0, -5.0), (53.8702, -5.0)];

/// Returns true if a point in degrees may be nearer to a place on the other side of the border than to one on its own.
pub(crate) fn is_near(lat: f64, lon: f64) -> bool {
    (53.6..=55.6).contains(&lat) && (-8.6..=-5.2).contains(&lon)
}

/// Returns true if a point in degrees is on the side of Northern Ireland. The line is at most 75 m from the border.
pub(crate) fn is_northern(lat: f64, lon: f64) -> bool {
    let line = IRISH_BORDER.iter().map(|point| Coordinates::read(point).degrees());
    let mut previous = SEA[2];
    let mut is_inside = false;
    for corner in line.chain(SEA) {
        let (south, north) = if corner.0 < previous.0 { (corner, previous) } else { (previous, corner) };
        let crosses = (south.0..north.0).contains(&lat);
        if crosses && lon < south.1 + (lat - south.0) / (north.0 - south.0) * (north.1 - south.1) {
            is_inside = !is_inside;
        }
        previous = corner;
    }
    is_inside
}

#[cfg(test)]
mod tests {
    use super::is_northern;
    use crate::item::Item;
    use crate::tables::ENTITIES;

    #[test]
    fn all_places_of_the_island_are_in_their_state() {
        let mut places = 0;
        for item in (0..ENTITIES.len() as u32).map(Item::from_entity) {
            let is_northern_irish = || item.description().contains("Northern Ireland");
            let country = item.country().iso;
            if matches!(item, Item::Place(_)) && (country == "IE" || (country == "GB" && is_northern_irish()))
            {
                let (lat, lon) = item.degrees();
                assert_eq!(is_northern(lat, lon), country == "GB", "{}", item.text());
                places += 1;
            }
        }
        assert!(places > 600, "{places}");
    }

    #[test]
    fn the_sea_belongs_to_the_nearer_state() {
        for (lat, lon, northern) in [
            (55.3, -6.2, true),
            (54.5, -5.4, true),
            (53.9, -5.7, true),
            (55.4, -7.3, false),
            (54.5, -8.6, false),
            (53.5, -6.0, false),
            (90.0, 0.0, false),
            (f64::NAN, -6.5, false),
        ] {
            assert_eq!(is_northern(lat, lon), northern, "{lat} {lon}");
        }
    }
}
