//! The map of listings: which part of it is shown, which cells its clusters have, and where each is drawn.

use std::f64::consts::PI;
use std::iter;

use super::projection::{EAST, NORTH, SCALE, SOUTH, WEST, project};
use crate::api::market::Cluster;

include!(concat!(env!("OUT_DIR"), "/outline.rs"));

/// The least width of a part of the map, in degrees: some 100 m.
const LEAST: f64 = 0.001;
/// The greatest zoom of clusters, and by how much finer their cells are than tiles of that zoom.
const MAX_ZOOM: u8 = 16;
const FINER: u8 = 3;
/// The greatest zoom of tiles.
const MAX_TILE_ZOOM: u8 = 19;
/// The radius of the smallest and largest circle, for a drawing as wide as the whole map.
const RADII: (f64, f64) = (105.0, 240.0);

/// A part of the map, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub(crate) west: f64,
    pub(crate) south: f64,
    pub(crate) east: f64,
    pub(crate) north: f64,
}

/// A cluster as it is drawn.
#[derive(Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) radius: f64,
    pub(crate) count: u64,
    /// The cell that holds its listings.
    pub(crate) area: Area,
}

/// A picture of a tile server: where it is drawn, and its numbers there.
#[derive(Debug, PartialEq)]
pub(crate) struct Tile {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) size: f64,
    zoom: u8,
    column: f64,
    row: f64,
}

impl Tile {
    /// Returns the address of the picture, from one with `{z}`, `{x}` and `{y}`.
    pub(crate) fn address(&self, template: &str) -> String {
        let Self { zoom, column, row, .. } = self;
        template
            .replace("{z}", &zoom.to_string())
            .replace("{x}", &column.to_string())
            .replace("{y}", &row.to_string())
    }
}

impl Area {
    /// The whole map.
    pub(crate) const WHOLE: Self = Self { west: WEST, south: SOUTH, east: EAST, north: NORTH };

    /// Parses `west,south,east,north`. Boxes over the 180th meridian are far from here.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<f64> =
            text.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
        let [west, south, east, north] = numbers.try_into().ok()?;
        let is_valid = (-180.0..=180.0).contains(&west) && (-85.0..=85.0).contains(&south);
        (is_valid && west <= east && east <= 180.0 && south <= north && north <= 85.0).then_some(Self {
            west,
            south,
            east,
            north,
        })
    }

    /// Returns the area as a parameter of an address.
    pub(crate) fn text(self) -> String {
        // Rounded outwards: what lies on an edge stays in it.
        let [west, south] = [self.west, self.south].map(|degrees| (degrees * 1e5).floor() / 1e5);
        let [east, north] = [self.east, self.north].map(|degrees| (degrees * 1e5).ceil() / 1e5);
        [west, south, east, north].map(|degrees| format!("{degrees:.5}")).join(",")
    }

    /// Returns what a map of this area shows: the area with a margin, as high as the whole map is for its width.
    pub(crate) fn shown(self) -> Self {
        let width = ((self.east - self.west) * 1.2).max(LEAST);
        let middle = self.middle();
        let (_, top, _, height) = self.view_box();
        let wanted = height * 1.2;
        let ratio = SIZE.1 / SIZE.0;
        let units = (width * SCALE).max(wanted / ratio);
        let (x, _) = project(middle.0, middle.1);
        let y = top + height / 2.0;
        let west = longitude(x - units / 2.0);
        let east = longitude(x + units / 2.0);
        let north = latitude(y - units * ratio / 2.0);
        let south = latitude(y + units * ratio / 2.0);
        Self { west, south, east, north }
    }

    /// Returns the area moved by a part of its size, or grown around its middle.
    pub(crate) fn changed(self, right: f64, up: f64, growth: f64) -> Self {
        let (width, height) = (self.east - self.west, self.north - self.south);
        let middle = self.middle();
        let (x, y) = (middle.0 + right * width, middle.1 + up * height);
        let (half_width, half_height) = (width * growth / 2.0, height * growth / 2.0);
        Self {
            west: (x - half_width).clamp(-180.0, 180.0),
            south: (y - half_height).clamp(-85.0, 85.0),
            east: (x + half_width).clamp(-180.0, 180.0),
            north: (y + half_height).clamp(-85.0, 85.0),
        }
    }

    fn middle(self) -> (f64, f64) {
        (f64::midpoint(self.west, self.east), f64::midpoint(self.south, self.north))
    }

    /// Returns the upper left corner and the size in units.
    pub(crate) fn view_box(self) -> (f64, f64, f64, f64) {
        let (left, top) = project(self.west, self.north);
        let (right, bottom) = project(self.east, self.south);
        (left, top, right - left, bottom - top)
    }

    /// Returns the zoom whose cells are about a tenth of the width of the area.
    pub(crate) fn zoom(self) -> u8 {
        let width = (self.east - self.west).max(LEAST);
        let mut zoom = 0;
        while zoom < MAX_ZOOM && 360.0 / f64::from(1_u32 << zoom) > width {
            zoom += 1;
        }
        zoom
    }

    /// Returns the tiles that cover the area, two to five in its width.
    pub(crate) fn tiles(self) -> Vec<Tile> {
        let width = (self.east - self.west).max(LEAST);
        let mut zoom = 0;
        while zoom < MAX_TILE_ZOOM && tile_width(zoom) > width / 2.0 {
            zoom += 1;
        }
        let size = tile_width(zoom) * SCALE;
        let (west, north) = tile_at(self.west, self.north, zoom);
        let (east, south) = tile_at(self.east, self.south, zoom);
        let numbers = |from: f64, to: f64| {
            let most = tile_number(zoom) - 1.0;
            iter::successors(Some(from.clamp(0.0, most)), move |number| {
                Some(number + 1.0).filter(|next| *next <= to.min(most))
            })
        };
        let rows = numbers(north, south);
        rows.flat_map(|row| {
            numbers(west, east).map(move |column| {
                let (x, y) = project(column_west(column, zoom), row_north(row, zoom));
                Tile { x, y, size, zoom, column, row }
            })
        })
        .collect()
    }

    /// Returns where clusters of this zoom are drawn on a map of this area, the largest first.
    pub(crate) fn places(self, clusters: &[Cluster], zoom: u8) -> Vec<Place> {
        let (_, _, width, _) = self.view_box();
        let unit = width / SIZE.0;
        let most = clusters.iter().map(|cluster| cluster.properties.count).max().unwrap_or(1);
        let of_most = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX)).sqrt();
        let places = clusters.iter().map(|cluster| {
            let [longitude, latitude] = cluster.geometry.coordinates;
            let (x, y) = project(longitude, latitude);
            let count = cluster.properties.count;
            let share = of_most(count) / of_most(most);
            let radius = (RADII.0 + (RADII.1 - RADII.0) * share) * unit;
            Place { x, y, radius, count, area: cell(longitude, latitude, zoom) }
        });
        places.collect()
    }
}

/// Returns the cell of clusters of a zoom that holds a place: a tile of the Web Mercator map.
fn cell(longitude: f64, latitude: f64, zoom: u8) -> Area {
    let zoom = zoom + FINER;
    let (column, row) = tile_at(longitude, latitude, zoom);
    Area {
        west: column_west(column, zoom),
        south: row_north(row + 1.0, zoom),
        east: column_west(column + 1.0, zoom),
        north: row_north(row, zoom),
    }
}

/// Returns the number of tiles of a zoom in each direction.
fn tile_number(zoom: u8) -> f64 {
    f64::from(1_u32 << zoom)
}

/// Returns the width of a tile in degrees.
fn tile_width(zoom: u8) -> f64 {
    360.0 / tile_number(zoom)
}

/// Returns column and row of the tile that holds a place.
fn tile_at(longitude: f64, latitude: f64, zoom: u8) -> (f64, f64) {
    let tiles = tile_number(zoom);
    let column = (longitude + 180.0) / 360.0 * tiles;
    let row = (1.0 - latitude.to_radians().tan().asinh() / PI) / 2.0 * tiles;
    (column.floor(), row.floor())
}

/// Returns the western edge of a column of tiles.
fn column_west(column: f64, zoom: u8) -> f64 {
    column * tile_width(zoom) - 180.0
}

/// Returns the northern edge of a row of tiles.
fn row_north(row: f64, zoom: u8) -> f64 {
    (PI * (1.0 - 2.0 * row / tile_number(zoom))).sinh().atan().to_degrees()
}

fn longitude(x: f64) -> f64 {
    x / SCALE + WEST
}

fn latitude(y: f64) -> f64 {
    let degrees = (project(0.0, 0.0).1 - y) / SCALE;
    degrees.to_radians().sinh().atan().to_degrees()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::market::{ClusterCount, ClusterPoint};

    fn cluster(longitude: f64, latitude: f64, count: u64) -> Cluster {
        Cluster {
            geometry: ClusterPoint { coordinates: [longitude, latitude] },
            properties: ClusterCount { count },
        }
    }

    #[test]
    fn places_are_projected_back_and_forth() {
        for (east, north) in [(-3.39, 51.95), (WEST, NORTH), (EAST, SOUTH), (-1.15, 60.15)] {
            let (x, y) = project(east, north);
            assert!(
                (longitude(x) - east).abs() < 1e-9 && (latitude(y) - north).abs() < 1e-9,
                "{east} {north}"
            );
        }
        assert!(LAND.starts_with('M') && ABROAD.ends_with('Z') && SIZE.0 > 0.0);
    }

    #[test]
    fn the_cell_of_a_cluster_holds_it() {
        let shown = Area::WHOLE;
        let zoom = shown.zoom();
        assert_eq!(zoom, 5);
        for (east, north) in [(-3.39, 51.95), (0.0, 51.5), (-7.2, 57.7)] {
            let place = &shown.places(&[cluster(east, north, 7)], zoom)[0];
            let Area { west, south, east: right, north: top } = place.area;
            assert!(west <= east && east <= right && south <= north && north <= top, "{place:?}");
            assert!(right - west < 2.0 && place.count == 7);
        }
    }

    #[test]
    fn tiles_cover_the_area() {
        for area in [Area::WHOLE, Area::parse("-3.4,51.9,-3.3,52").unwrap().shown()] {
            let (left, top, width, height) = area.view_box();
            let tiles = area.tiles();
            assert!((6..=40).contains(&tiles.len()), "{}", tiles.len());
            let edge =
                |of: fn(f64, f64) -> f64, at: fn(&Tile) -> f64| tiles.iter().map(at).reduce(of).unwrap();
            assert!(edge(f64::min, |tile| tile.x) <= left && edge(f64::min, |tile| tile.y) <= top);
            assert!(edge(f64::max, |tile| tile.x + tile.size) >= left + width);
            assert!(edge(f64::max, |tile| tile.y + tile.size) >= top + height - 1e-6);
        }
        // London, as tile servers number it.
        let london = Area::parse("-0.2,51.4,0,51.6").unwrap().tiles();
        let addresses: Vec<_> =
            london.iter().map(|tile| tile.address("https://tiles.example/{z}/{x}/{y}.png")).collect();
        assert!(
            addresses.iter().any(|address| address == "https://tiles.example/12/2046/1361.png"),
            "{addresses:?}"
        );
    }

    #[test]
    fn a_part_is_shown_whole_and_in_the_shape_of_the_map() {
        for area in ["-3.4,51.9,-3.3,52", "-8,51,-6,51.01", "-3.39,51.95,-3.39,51.95"] {
            let area = Area::parse(area).unwrap();
            let shown = area.shown();
            assert!(shown.west <= area.west && shown.east >= area.east, "{shown:?}");
            assert!(shown.south <= area.south && shown.north >= area.north, "{shown:?}");
            let (_, _, width, height) = shown.view_box();
            assert!((height / width - SIZE.1 / SIZE.0).abs() < 1e-6, "{shown:?}");
            assert!(Area::parse(&shown.text()).is_some());
        }
        for wrong in ["", "1,2,3", "1,2,3,x", "3,51,2,52", "-200,1,2,3", "1,2,3,NaN"] {
            assert_eq!(Area::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_map_moves_and_grows() {
        let area = Area { west: -4.0, south: 51.0, east: -2.0, north: 53.0 };
        let moved = area.changed(0.5, 0.0, 1.0);
        assert!((moved.west + 3.0).abs() < 1e-9 && (moved.east + 1.0).abs() < 1e-9);
        let grown = area.changed(0.0, 0.0, 2.0);
        assert!((grown.west + 5.0).abs() < 1e-9 && (grown.north - 54.0).abs() < 1e-9);
    }
}
