//! Postcode districts of the United Kingdom and the islands, and routing keys of Ireland. In the order of their table, HR2
//! comes before HR10.

use crate::country::country_numbered;
use crate::tables::{DISTRICTS, degrees_at, name_at, some, u16_at, u32_at};

fn row(number: u16) -> &'static [u8; 19] {
    &DISTRICTS[usize::from(number)]
}

pub fn code(number: u16) -> &'static str {
    str::from_utf8(&row(number)[..4]).unwrap_or_default().trim_end()
}

pub fn padded_code(number: u16) -> [u8; 4] {
    let [a, b, c, d, ..] = *row(number);
    [a, b, c, d]
}

/// A code as the tables have it; none if it is longer than any.
pub fn padded(code: &str) -> Option<[u8; 4]> {
    let mut padded = [b' '; 4];
    padded.get_mut(..code.len())?.copy_from_slice(code.as_bytes());
    Some(padded)
}

pub fn degrees(number: u16) -> (f64, f64) {
    degrees_at(row(number), 4)
}

/// Its main place: not always the post town.
pub fn place(number: u16) -> &'static str {
    name_at(u32_at(row(number), 12))
}

pub fn region(number: u16) -> Option<u16> {
    some(u16_at(row(number), 16))
}

pub fn country(number: u16) -> u8 {
    row(number)[18]
}

pub fn is_irish(number: u16) -> bool {
    country_numbered(country(number)).iso == "IE"
}

/// All whose code begins so.
pub fn beginning(start: &str) -> impl Iterator<Item = u16> {
    (0..).zip(DISTRICTS).filter(move |(_, row)| row.starts_with(start.as_bytes())).map(|(number, _)| number)
}

pub fn irish(code: &str) -> Option<u16> {
    beginning(code).find(|number| self::code(*number) == code && is_irish(*number))
}

/// Any but Irish.
pub fn british(code: &str) -> Option<u16> {
    padded(code).and_then(british_padded)
}

pub fn british_padded(code: [u8; 4]) -> Option<u16> {
    (0..)
        .zip(DISTRICTS)
        .find(|(number, row)| row.starts_with(&code) && !is_irish(*number))
        .map(|(number, _)| number)
}
