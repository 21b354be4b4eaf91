//! Countries of ISO 3166-1 and regions of ISO 3166-2.

use crate::tables::{REGION_TEXTS, REGIONS, degrees_at, some, u16_at, u32_at};

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

/// Where a region's row has the number of its country.
const COUNTRY: usize = 14;

/// A subdivision of a country.
#[derive(Clone, Copy, Debug)]
pub struct Region(&'static [u8; 16]);

impl Region {
    /// ISO 3166-2: `GB-HEF`.
    pub fn iso(self) -> &'static str {
        self.texts().next().unwrap_or_default()
    }

    /// In English or as there.
    pub fn name(self) -> &'static str {
        self.texts().nth(1).unwrap_or_default()
    }

    /// ISO 3166-1 alpha-2.
    pub fn country(self) -> &'static str {
        country_numbered(self.country_number()).iso
    }

    /// English region, nation, province or other parent; empty if there is none.
    pub fn group(self) -> &'static str {
        self.texts().nth(2).unwrap_or_default()
    }

    /// Other names and names in other languages.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        self.texts().skip(3)
    }

    /// Usual months between tests of cattle for tuberculosis, a default to be overridden; 0 where not known.
    pub fn tb_months(self) -> u32 {
        self.0[15].into()
    }

    pub(crate) fn country_number(self) -> u8 {
        self.0[COUNTRY]
    }

    pub(crate) fn parent(self) -> Option<u16> {
        some(u16_at(self.0, 12))
    }

    pub(crate) fn degrees(self) -> (f64, f64) {
        degrees_at(self.0, 4)
    }

    fn texts(self) -> impl Iterator<Item = &'static str> {
        let line = REGION_TEXTS[u32_at(self.0, 0) as usize..].split('\n').next();
        line.unwrap_or_default().split('|')
    }
}

static COUNTRIES: [Country; 249] = include!(concat!(env!("OUT_DIR"), "/countries.rs"));

/// All countries, by code.
pub fn countries() -> &'static [Country] {
    &COUNTRIES
}

/// The country of an alpha-2 code in upper case.
pub fn country(iso: &str) -> Option<&'static Country> {
    country_number(iso).map(|number| &COUNTRIES[usize::from(number)])
}

/// A country's regions, by code; none for an unknown country.
pub fn regions(country: &str) -> impl Iterator<Item = Region> + use<> {
    let range = country_number(country).map_or(0..0, |country| {
        let from = REGIONS.partition_point(|row| row[COUNTRY] < country);
        from..from + REGIONS[from..].partition_point(|row| row[COUNTRY] == country)
    });
    REGIONS[range].iter().map(Region)
}

pub(crate) fn country_number(iso: &str) -> Option<u8> {
    COUNTRIES.binary_search_by_key(&iso, |country| country.iso).ok().map(|number| number as u8)
}

/// Some of the countries, to be [preferred](crate::Search::preferred) in a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountrySet([u64; 4]);

impl CountrySet {
    /// The countries of these alpha-2 codes; unknown codes are left out.
    pub fn of<'a>(codes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut set = Self::default();
        for number in codes.into_iter().filter_map(country_number) {
            set.0[usize::from(number) / 64] |= 1 << (number % 64);
        }
        set
    }

    pub(crate) fn has(&self, number: u8) -> bool {
        self.0[usize::from(number) / 64] >> (number % 64) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

pub(crate) fn country_numbered(number: u8) -> &'static Country {
    &COUNTRIES[usize::from(number)]
}

pub(crate) fn region_number(iso: &str) -> Option<u16> {
    REGIONS.binary_search_by_key(&iso, |row| Region(row).iso()).ok().map(|number| number as u16)
}

pub(crate) fn region_numbered(number: u16) -> Region {
    Region(&REGIONS[usize::from(number)])
}

/// A region and what it is part of.
pub(crate) fn region_and_around(region: Option<u16>) -> impl Iterator<Item = u16> {
    std::iter::successors(region, |number| region_numbered(*number).parent())
}
