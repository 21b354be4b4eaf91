//! Postcode districts of the United Kingdom and the Crown dependencies, and routing keys of Ireland, by their row
//! numbers. Rows are in natural order: HR2 comes before HR10.

use crate::country::country_by_number;
use crate::tables::{DISTRICTS, degrees_at, name_at, optional, u16_at, u32_at};

fn row(number: u16) -> &'static [u8; 19] {
    &DISTRICTS[usize::from(number)]
}

/// Returns the code: `HR1`.
pub fn code(number: u16) -> &'static str {
    str::from_utf8(&row(number)[..4]).unwrap_or_default().trim_end()
}

/// Returns the code padded with spaces to four bytes.
pub fn padded_code(number: u16) -> [u8; 4] {
    let [a, b, c, d, ..] = *row(number);
    [a, b, c, d]
}

/// Pads a code with spaces to four bytes. Returns `None` if it is longer.
pub fn pad(code: &str) -> Option<[u8; 4]> {
    let mut padded = [b' '; 4];
    padded.get_mut(..code.len())?.copy_from_slice(code.as_bytes());
    Some(padded)
}

/// Returns latitude and longitude in degrees.
pub fn degrees(number: u16) -> (f64, f64) {
    degrees_at(row(number), 4)
}

/// Returns the name of the main place, which is not always the post town.
pub fn place(number: u16) -> &'static str {
    name_at(u32_at(row(number), 12))
}

/// Returns the number of the region.
pub fn region(number: u16) -> Option<u16> {
    optional(u16_at(row(number), 16))
}

/// Returns the number of the country.
pub fn country(number: u16) -> u8 {
    row(number)[18]
}

/// Returns true for a routing key of Ireland.
pub fn is_irish(number: u16) -> bool {
    country_by_number(country(number)).iso == "IE"
}

/// Returns all districts whose code has this prefix.
pub fn with_prefix(prefix: &str) -> impl Iterator<Item = u16> {
    (0..).zip(DISTRICTS).filter(move |(_, row)| row.starts_with(prefix.as_bytes())).map(|(number, _)| number)
}

/// Returns the routing key of Ireland with this code.
pub fn find_irish(code: &str) -> Option<u16> {
    with_prefix(code).find(|number| self::code(*number) == code && is_irish(*number))
}

/// Returns the district outside Ireland with this code.
pub fn find_british(code: &str) -> Option<u16> {
    pad(code).and_then(find_british_padded)
}

/// Returns the district outside Ireland with this code, which is padded.
pub fn find_british_padded(code: [u8; 4]) -> Option<u16> {
    (0..)
        .zip(DISTRICTS)
        .find(|(number, row)| row.starts_with(&code) && !is_irish(*number))
        .map(|(number, _)| number)
}
