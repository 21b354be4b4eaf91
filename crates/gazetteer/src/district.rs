//! Postcode districts of the United Kingdom and the Crown dependencies, and routing keys of Ireland, by their row
//! numbers. Rows are in natural order: HR2 comes before HR10.

use crate::country::country_by_number;
use crate::layout::{CountryNumber, DistrictNumber, DistrictRow, RegionNumber};
use crate::tables::{DISTRICTS, name_at};

fn row(number: DistrictNumber) -> DistrictRow {
    DistrictRow::read(&DISTRICTS[number.index()])
}

/// Returns all rows. Each starts with the code.
fn rows() -> impl Iterator<Item = (DistrictNumber, &'static [u8; DistrictRow::BYTES])> {
    (0..).map(DistrictNumber).zip(DISTRICTS)
}

/// Returns the code: `HR1`.
pub(crate) fn code(number: DistrictNumber) -> &'static str {
    let code = DISTRICTS[number.index()].split_at(4).0;
    str::from_utf8(code).unwrap_or_default().trim_end()
}

/// Returns the code padded with spaces to four bytes.
pub(crate) fn padded_code(number: DistrictNumber) -> [u8; 4] {
    row(number).code
}

/// Pads a code with spaces to four bytes. Returns `None` if it is longer.
pub(crate) fn pad(code: &str) -> Option<[u8; 4]> {
    let mut padded = [b' '; 4];
    padded.get_mut(..code.len())?.copy_from_slice(code.as_bytes());
    Some(padded)
}

/// Returns latitude and longitude in degrees.
pub(crate) fn degrees(number: DistrictNumber) -> (f64, f64) {
    row(number).coordinates.degrees()
}

/// Returns the name of the main place, which is not always the post town.
pub(crate) fn place(number: DistrictNumber) -> &'static str {
    name_at(row(number).place)
}

/// Returns the number of the region.
pub(crate) fn region(number: DistrictNumber) -> Option<RegionNumber> {
    row(number).region
}

/// Returns the number of the country.
pub(crate) fn country(number: DistrictNumber) -> CountryNumber {
    row(number).country
}

/// Returns true for a routing key of Ireland.
pub(crate) fn is_irish(number: DistrictNumber) -> bool {
    country_by_number(country(number)).iso == "IE"
}

/// Returns all districts whose code has this prefix.
pub(crate) fn with_prefix(prefix: &str) -> impl Iterator<Item = DistrictNumber> {
    rows().filter(move |(_, row)| row.starts_with(prefix.as_bytes())).map(|(number, _)| number)
}

/// Returns the routing key of Ireland with this code.
pub(crate) fn find_irish(code: &str) -> Option<DistrictNumber> {
    with_prefix(code).find(|number| self::code(*number) == code && is_irish(*number))
}

/// Returns the district outside Ireland with this code.
pub(crate) fn find_british(code: &str) -> Option<DistrictNumber> {
    pad(code).and_then(find_british_padded)
}

/// Returns the district outside Ireland with this code, which is padded.
pub(crate) fn find_british_padded(code: [u8; 4]) -> Option<DistrictNumber> {
    let (number, _) = rows().find(|(number, row)| row.starts_with(&code) && !is_irish(*number))?;
    Some(number)
}
