//! Countries of ISO 3166-1 and regions of ISO 3166-2.

/// A country. Units are words of the wire: `mile`, `tonne`, `litre`, `celsius`, …
#[derive(Debug)]
pub struct Country {
    /// ISO 3166-1 alpha-2.
    pub iso: &'static str,
    /// ISO 3166-1 alpha-3.
    pub iso3: &'static str,
    /// In English.
    pub name: &'static str,
    /// By name.
    pub continent: &'static str,
    /// With its plus: `+44`.
    pub calling_code: &'static str,
    /// ISO 4217.
    pub currency: &'static str,
    /// BCP 47 tag of the language that most speak.
    pub locale: &'static str,
    /// `mile` or `kilometre`.
    pub unit_distance: &'static str,
    /// `tonne` or `ton`.
    pub unit_weight: &'static str,
    /// `litre` or `gallon`.
    pub unit_capacity: &'static str,
    /// `celsius` or `fahrenheit`.
    pub unit_temperature: &'static str,
    /// What a region is called there: `county`, `state`, …
    pub zone_descriptor: &'static str,
}

/// A subdivision of a country.
#[derive(Debug)]
pub struct Region {
    /// ISO 3166-2: `GB-HEF`.
    pub iso: &'static str,
    /// In English or as there.
    pub name: &'static str,
    /// ISO 3166-1 alpha-2.
    pub country: &'static str,
    /// English region, nation, province or other parent; empty if there is none.
    pub group: &'static str,
    /// Other names and names in other languages.
    pub aliases: &'static [&'static str],
    /// Usual months between tests of cattle for tuberculosis, a default to be overridden; 0 where not known.
    pub tb_months: u32,
    /// Centre, in units of 1e-5 degree.
    pub(crate) at: (i32, i32),
    pub(crate) parent: Option<u16>,
}

impl Region {
    pub(crate) fn country_number(&self) -> u8 {
        country_number(self.country).unwrap_or_default()
    }

    pub(crate) fn degrees(&self) -> (f64, f64) {
        (f64::from(self.at.0) / 1e5, f64::from(self.at.1) / 1e5)
    }
}

static COUNTRIES: [Country; 249] = include!(concat!(env!("OUT_DIR"), "/countries.rs"));
#[allow(clippy::unreadable_literal)]
static REGIONS: &[Region] = include!(concat!(env!("OUT_DIR"), "/regions.rs"));

/// All countries, by code.
pub fn countries() -> &'static [Country] {
    &COUNTRIES
}

/// The country of an alpha-2 code in upper case.
pub fn country(iso: &str) -> Option<&'static Country> {
    country_number(iso).map(|number| &COUNTRIES[usize::from(number)])
}

/// A country's regions, by code; none for an unknown country.
pub fn regions(country: &str) -> &'static [Region] {
    let from = REGIONS.partition_point(|region| region.country < country);
    let to = from + REGIONS[from..].partition_point(|region| region.country == country);
    &REGIONS[from..to]
}

pub(crate) fn country_number(iso: &str) -> Option<u8> {
    COUNTRIES.binary_search_by_key(&iso, |country| country.iso).ok().map(|number| number as u8)
}

pub(crate) fn country_numbered(number: u8) -> &'static Country {
    &COUNTRIES[usize::from(number)]
}

pub(crate) fn region_number(iso: &str) -> Option<u16> {
    REGIONS.binary_search_by_key(&iso, |region| region.iso).ok().map(|number| number as u16)
}

pub(crate) fn region_numbered(number: u16) -> &'static Region {
    &REGIONS[usize::from(number)]
}

/// A region and what it is part of.
pub(crate) fn region_and_around(region: Option<u16>) -> impl Iterator<Item = u16> {
    std::iter::successors(region, |number| region_numbered(*number).parent)
}
