//! The 1.7 million unit postcodes of Great Britain, decoded by sector on demand.

use crate::layout::{BoundsRow, Column, RegionNumber, SECTORS_PER_BLOCK, SectorRow};
use crate::sphere::KILOMETRES_PER_DEGREE;
use crate::tables::{AUTHORITIES, BLOCKS, SECTORS, UNITS};

/// A unit postcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    sector: u16,
    /// The two letters as a number: 26 times the first plus the second, with A as 0.
    letters: u16,
    authority: u16,
    /// Latitude in units of 1e-4 degree.
    lat: i32,
    /// Longitude in units of 1e-4 degree.
    lon: i32,
}

impl Unit {
    /// Returns the code with its space: `HR4 9AR`.
    pub(crate) fn text(self) -> String {
        let (outward, inward) = (self.outward(), self.inward());
        let text = |bytes| String::from_utf8_lossy(bytes);
        format!("{} {}", text(outward.trim_ascii_end()), text(&inward))
    }

    /// Returns the code of the district, padded with spaces to four bytes.
    pub(crate) fn outward(self) -> [u8; 4] {
        sector_row(self.sector.into()).outward
    }

    /// Returns the last three characters of the code.
    fn inward(self) -> [u8; 3] {
        let [first, second] = [self.letters / 26, self.letters % 26].map(|letter| b'A' + letter as u8);
        [sector_row(self.sector.into()).digit, first, second]
    }

    /// Returns the number of the region.
    pub(crate) fn region(self) -> Option<RegionNumber> {
        Column::read(&AUTHORITIES[usize::from(self.authority)])
    }

    /// Returns latitude and longitude in degrees.
    pub(crate) fn degrees(self) -> (f64, f64) {
        (f64::from(self.lat) / 1e4, f64::from(self.lon) / 1e4)
    }
}

/// Returns the row numbers of all sectors of a district, or of the sector with this digit.
pub(crate) fn sectors(district: [u8; 4], digit: Option<u8>) -> std::ops::Range<usize> {
    let range = |key: &[u8]| {
        let from = SECTORS.partition_point(|row| row[..key.len()] < *key);
        from..from + SECTORS[from..].partition_point(|row| row.starts_with(key))
    };
    match (district, digit) {
        ([a, b, c, d], Some(digit)) => range(&[a, b, c, d, digit]),
        (district, None) => range(&district),
    }
}

fn sector_row(sector: usize) -> SectorRow {
    SectorRow::read(&SECTORS[sector])
}

/// Decodes the unit postcodes of a sector, sorted by code.
pub(crate) fn units(sector: usize) -> impl Iterator<Item = Unit> {
    let row = sector_row(sector);
    let mut column = Varints(&UNITS[row.offset as usize..]);
    let mut letters = 0;
    let mut units: Vec<Unit> = (0..row.units)
        .map(|_| {
            let step = column.next();
            letters += (step >> 1) as u16;
            let authority = if step & 1 == 1 { column.next() as u16 } else { row.authority };
            let unit = Unit { sector: sector as u16, letters, authority, lat: 0, lon: 0 };
            letters += 1;
            unit
        })
        .collect();
    let mut lat = row.south;
    for unit in &mut units {
        lat += column.next_signed();
        unit.lat = lat;
    }
    let mut lon = row.west;
    for unit in &mut units {
        lon += column.next_signed();
        unit.lon = lon;
    }
    units.into_iter()
}

/// Returns the unit postcodes of a district whose inward code has this prefix, sorted by code.
pub(crate) fn with_prefix(district: [u8; 4], inward: &str) -> impl Iterator<Item = Unit> {
    let sectors = inward.bytes().next().map_or(0..0, |digit| sectors(district, Some(digit)));
    sectors.flat_map(units).filter(move |unit| unit.inward().starts_with(inward.as_bytes()))
}

/// A decoder of LEB128 numbers: seven bits in each byte, low bits first. The top bit is set in all bytes but the last.
struct Varints(&'static [u8]);

impl Varints {
    fn next(&mut self) -> u32 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let [byte, rest @ ..] = self.0 else { break };
            self.0 = rest;
            number |= u32::from(byte & 127) << shift;
            if *byte < 128 {
                break;
            }
        }
        number
    }

    /// Decodes a zigzag number, whose sign is in the lowest bit.
    fn next_signed(&mut self) -> i32 {
        let number = self.next();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }
}

/// Returns the unit postcode nearest to a point in degrees, if one is within `within_km` kilometres.
///
/// Sectors, and blocks of sectors, have bounding boxes. A box is skipped if its nearest point is farther than the
/// farthest point of another box, and only the sectors that remain are decoded.
pub(crate) fn nearest(lat: f64, lon: f64, within_km: f64) -> Option<Unit> {
    // A degree of longitude is shorter than a degree of latitude by this factor.
    let lon_scale = lat.to_radians().cos();
    let square = |y: f64, x: f64| y * y + (x * lon_scale) * (x * lon_scale);
    // Squared distances to the nearest and to the farthest point of a box, in square degrees of latitude.
    let distances = |BoundsRow { south, west, north, east }: BoundsRow| {
        let [south, west, north, east] = [south, west, north, east].map(|n| f64::from(n) / 1e4);
        let [south, north, west, east] = [south - lat, lat - north, west - lon, lon - east];
        (square(south.max(north).max(0.0), west.max(east).max(0.0)), square(south.min(north), west.min(east)))
    };
    let mut bound = (within_km / KILOMETRES_PER_DEGREE).powi(2);
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (row, number) in BLOCKS.iter().zip(0..) {
        let (nearest, farthest) = distances(BoundsRow::read(row));
        bound = bound.min(farthest);
        blocks.push((nearest, number));
    }
    blocks.retain(|(distance, _)| *distance <= bound);
    blocks.sort_unstable_by(by_distance);
    let mut candidates = Vec::new();
    for (distance, block) in blocks {
        if distance > bound {
            break;
        }
        for sector in
            (block * SECTORS_PER_BLOCK..).take(SECTORS_PER_BLOCK).take_while(|sector| *sector < SECTORS.len())
        {
            let (nearest, farthest) = distances(sector_row(sector).bounds());
            bound = bound.min(farthest);
            if nearest <= bound {
                candidates.push((nearest, sector));
            }
        }
    }
    candidates.sort_unstable_by(by_distance);

    let mut best = None;
    for (distance, sector) in candidates {
        if distance > bound {
            break;
        }
        for unit in units(sector) {
            let (y, x) = unit.degrees();
            let distance = square(y - lat, x - lon);
            if distance < bound || (best.is_none() && distance <= bound) {
                (bound, best) = (distance, Some(unit));
            }
        }
    }
    best
}

/// Compares by distance, then by number.
fn by_distance(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests evenly spread points on land, in the sea and beyond the borders.
    #[test]
    fn nearest_agrees_with_a_linear_search() {
        let all: Vec<(Unit, (f64, f64))> =
            (0..SECTORS.len()).flat_map(units).map(|unit| (unit, unit.degrees())).collect();
        let mut found = 0;
        for i in 0..48 {
            let (lat, lon) = (49.5 + f64::from(i * 29 % 48) * 0.25, -8.5 + f64::from(i) * 0.23);
            let lon_scale = lat.to_radians().cos();
            let square = |(y, x): (f64, f64)| (y - lat).powi(2) + ((x - lon) * lon_scale).powi(2);
            let least = all.iter().map(|(_, at)| square(*at)).fold(f64::INFINITY, f64::min);
            let within = (30.0 / KILOMETRES_PER_DEGREE).powi(2);
            let nearest = nearest(lat, lon, 30.0).map(|unit| square(unit.degrees()));
            assert_eq!(
                nearest.map(|d| (d - least).abs() < 1e-12),
                (least <= within).then_some(true),
                "{lat} {lon}"
            );
            found += usize::from(nearest.is_some());
        }
        assert!((10..40).contains(&found), "{found}");
    }
}
