//! Unit postcodes of Great Britain, 1.7 million of them, decoded sector by sector as they are needed.

use crate::sphere;
use crate::tables::{AUTHORITIES, BLOCKS, SECTORS, UNITS, some, u16_at, u32_at};

/// Sectors of a row of `BLOCKS`.
const BLOCK: usize = 32;

/// A unit postcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    sector: u16,
    /// 26 times the first letter and the second, counted from 0.
    letters: u16,
    authority: u16,
    /// 1e-4 degree.
    lat: i32,
    lon: i32,
}

impl Unit {
    /// `HR4 9AR`.
    pub fn text(self) -> String {
        let (outward, inward) = (self.outward(), self.inward());
        let text = |bytes| String::from_utf8_lossy(bytes);
        format!("{} {}", text(outward.trim_ascii_end()), text(&inward))
    }

    /// Its district, padded to four.
    pub fn outward(self) -> [u8; 4] {
        let [a, b, c, d, ..] = SECTORS[usize::from(self.sector)];
        [a, b, c, d]
    }

    fn inward(self) -> [u8; 3] {
        let [first, second] = [self.letters / 26, self.letters % 26].map(|letter| b'A' + letter as u8);
        [SECTORS[usize::from(self.sector)][4], first, second]
    }

    pub fn region(self) -> Option<u16> {
        some(u16::from_le_bytes(AUTHORITIES[usize::from(self.authority)]))
    }

    pub fn degrees(self) -> (f64, f64) {
        (f64::from(self.lat) / 1e4, f64::from(self.lon) / 1e4)
    }
}

/// Numbers of a district's sectors: all, or the one of the digit.
pub fn sectors(district: [u8; 4], digit: Option<u8>) -> std::ops::Range<usize> {
    let range = |key: &[u8]| {
        let from = SECTORS.partition_point(|row| row[..key.len()] < *key);
        from..from + SECTORS[from..].partition_point(|row| row.starts_with(key))
    };
    match (district, digit) {
        ([a, b, c, d], Some(digit)) => range(&[a, b, c, d, digit]),
        (district, None) => range(&district),
    }
}

/// A sector's units, in order.
pub fn units(sector: usize) -> impl Iterator<Item = Unit> {
    let row = &SECTORS[sector];
    let count = usize::from(u16_at(row, 6));
    let common = u16_at(row, 24);
    let mut column = Varints(&UNITS[u32_at(row, 8) as usize..]);
    let mut letters = 0;
    let mut units: Vec<Unit> = (0..count)
        .map(|_| {
            let step = column.next();
            letters += (step >> 1) as u16;
            let authority = if step & 1 == 1 { column.next() as u16 } else { common };
            let unit = Unit { sector: sector as u16, letters, authority, lat: 0, lon: 0 };
            letters += 1;
            unit
        })
        .collect();
    let mut lat = u32_at(row, 12).cast_signed();
    for unit in &mut units {
        lat += column.next_signed();
        unit.lat = lat;
    }
    let mut lon = u32_at(row, 16).cast_signed();
    for unit in &mut units {
        lon += column.next_signed();
        unit.lon = lon;
    }
    units.into_iter()
}

/// A district's units whose inward code begins so, in order.
pub fn beginning(district: [u8; 4], inward: &str) -> impl Iterator<Item = Unit> {
    let sectors = inward.bytes().next().map_or(0..0, |digit| sectors(district, Some(digit)));
    sectors.flat_map(units).filter(move |unit| unit.inward().starts_with(inward.as_bytes()))
}

/// Numbers of seven bits a byte, low first, the top bit saying that there are more.
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

    /// Signs are in the lowest bit.
    fn next_signed(&mut self) -> i32 {
        let number = self.next();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }
}

/// The unit nearest to a point, if one is within so many kilometres. Sectors are known by the boxes around their units, and
/// by one box for a block of them: only those are looked at and decoded that are not farther off than all of another.
pub fn nearest(lat: f64, lon: f64, within_km: f64) -> Option<Unit> {
    let narrowing = lat.to_radians().cos();
    let square = |y: f64, x: f64| y * y + (x * narrowing) * (x * narrowing);
    // To the nearest and to the farthest point of a box.
    let distances = |[south, west, north, east]: [i32; 4]| {
        let [south, west, north, east] = [south, west, north, east].map(|n| f64::from(n) / 1e4);
        let [south, north, west, east] = [south - lat, lat - north, west - lon, lon - east];
        (square(south.max(north).max(0.0), west.max(east).max(0.0)), square(south.min(north), west.min(east)))
    };
    let mut bound = (within_km / sphere::KILOMETRES_PER_DEGREE).powi(2);
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (row, number) in BLOCKS.iter().zip(0..) {
        let (distance, all) = distances(std::array::from_fn(|i| u32_at(row, 4 * i).cast_signed()));
        bound = bound.min(all);
        blocks.push((distance, number));
    }
    blocks.retain(|(distance, _)| *distance <= bound);
    blocks.sort_unstable_by(nearer);
    let mut near = Vec::new();
    for (distance, block) in blocks {
        if distance > bound {
            break;
        }
        for sector in (block * BLOCK..).take(BLOCK).take_while(|sector| *sector < SECTORS.len()) {
            let row = &SECTORS[sector];
            let (south, west) = (u32_at(row, 12).cast_signed(), u32_at(row, 16).cast_signed());
            let (north, east) = (south + i32::from(u16_at(row, 20)), west + i32::from(u16_at(row, 22)));
            let (distance, all) = distances([south, west, north, east]);
            bound = bound.min(all);
            if distance <= bound {
                near.push((distance, sector));
            }
        }
    }
    near.sort_unstable_by(nearer);

    let mut best = None;
    for (distance, sector) in near {
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

/// By distance, then by number.
fn nearer(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points on land, in the sea and beyond the borders, spread evenly.
    #[test]
    fn the_nearest_is_the_nearest_of_all() {
        let all: Vec<(Unit, (f64, f64))> =
            (0..SECTORS.len()).flat_map(units).map(|unit| (unit, unit.degrees())).collect();
        let mut found = 0;
        for i in 0..48 {
            let (lat, lon) = (49.5 + f64::from(i * 29 % 48) * 0.25, -8.5 + f64::from(i) * 0.23);
            let narrowing = lat.to_radians().cos();
            let square = |(y, x): (f64, f64)| (y - lat).powi(2) + ((x - lon) * narrowing).powi(2);
            let least = all.iter().map(|(_, at)| square(*at)).fold(f64::INFINITY, f64::min);
            let within = (30.0 / sphere::KILOMETRES_PER_DEGREE).powi(2);
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
