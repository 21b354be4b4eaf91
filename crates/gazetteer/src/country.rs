//! The countries of ISO 3166-1 and the regions of ISO 3166-2.

use crate::layout::{CountryNumber, RegionNumber, RegionRow};
use crate::tables::{REGION_TEXTS, REGIONS};

/// A country. Units are the words of the API (docs/api/places.md).
#[derive(Debug)]
pub struct Country {
    /// ISO 3166-1 alpha-2 code.
    pub iso: &'static str,
    /// ISO 3166-1 alpha-3 code.
    pub iso3: &'static str,
    /// Name in English.
    pub name: &'static str,
    /// Name of the continent in English.
    pub continent: &'static str,
    /// Calling code with a plus sign: `+44`.
    pub calling_code: &'static str,
    /// ISO 4217 code.
    pub currency: &'static str,
    /// BCP 47 tag with the most widely spoken language.
    pub locale: &'static str,
    /// `mile` or `kilometre`.
    pub unit_distance: &'static str,
    /// `tonne` or `ton`.
    pub unit_weight: &'static str,
    /// `litre` or `gallon`.
    pub unit_capacity: &'static str,
    /// `celsius` or `fahrenheit`.
    pub unit_temperature: &'static str,
    /// The term for a region: `county`, `state`, …
    pub zone_descriptor: &'static str,
}

/// A subdivision of a country.
#[derive(Clone, Copy, Debug)]
pub struct Region(&'static [u8; RegionRow::BYTES]);

impl Region {
    /// Returns the ISO 3166-2 code: `GB-HEF`.
    pub fn iso(self) -> &'static str {
        self.texts().next().unwrap_or_default()
    }

    /// Returns the name, in English or in the local language.
    pub fn name(self) -> &'static str {
        self.texts().nth(1).unwrap_or_default()
    }

    /// Returns the ISO 3166-1 alpha-2 code of the country.
    pub fn country(self) -> &'static str {
        country_by_number(self.country_number()).iso
    }

    /// Returns the name of the English region, nation, province or other parent; empty if there is none.
    pub fn group(self) -> &'static str {
        self.texts().nth(2).unwrap_or_default()
    }

    /// Returns other names, including those in other languages.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        self.texts().skip(4)
    }

    /// Returns the usual interval between tests of cattle for tuberculosis, in months; 0 if it is not known. It is a
    /// default to be overridden.
    pub fn tb_months(self) -> u32 {
        self.row().tb_months.into()
    }

    /// Returns the area in which cattle are tested at this interval, such as `high-risk`, `edge-6` or `wales`; empty if
    /// it is not known.
    pub fn tb_area(self) -> &'static str {
        self.texts().nth(3).unwrap_or_default()
    }

    fn row(self) -> RegionRow {
        RegionRow::read(self.0)
    }

    /// Returns the row number of the country.
    pub(crate) fn country_number(self) -> CountryNumber {
        self.row().country
    }

    /// Returns the number of the region that this region is part of.
    pub(crate) fn parent(self) -> Option<RegionNumber> {
        self.row().parent
    }

    /// Returns latitude and longitude in degrees.
    pub(crate) fn degrees(self) -> (f64, f64) {
        self.row().coordinates.degrees()
    }

    /// Returns code, name, group, TB area and aliases.
    fn texts(self) -> impl Iterator<Item = &'static str> {
        let line = REGION_TEXTS[self.row().texts as usize..].split('\n').next();
        line.unwrap_or_default().split('|')
    }
}

static COUNTRIES: [Country; 249] = include!(concat!(env!("OUT_DIR"), "/countries.rs"));

/// Returns all countries, sorted by code.
pub fn countries() -> &'static [Country] {
    &COUNTRIES
}

/// Returns the country with this alpha-2 code, which is in upper case.
pub fn country(iso: &str) -> Option<&'static Country> {
    country_number(iso).map(|number| &COUNTRIES[number.index()])
}

/// Returns the regions of a country, sorted by code. An unknown country has none.
pub fn regions(country: &str) -> impl Iterator<Item = Region> + use<> {
    let range = country_number(country).map_or(0..0, |country| {
        let from = REGIONS.partition_point(|row| RegionRow::read(row).country < country);
        from..from + REGIONS[from..].partition_point(|row| RegionRow::read(row).country == country)
    });
    REGIONS[range].iter().map(Region)
}

/// Returns the row number of a country.
pub(crate) fn country_number(iso: &str) -> Option<CountryNumber> {
    let number = COUNTRIES.binary_search_by_key(&iso, |country| country.iso).ok()?;
    Some(CountryNumber(number as u8))
}

/// A set of countries, for [`SearchOptions::preferred`](crate::SearchOptions::preferred).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountrySet([u64; 4]);

impl CountrySet {
    /// Returns the countries with these alpha-2 codes. Unknown codes are ignored.
    pub fn of<'a>(codes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut set = Self::default();
        for number in codes.into_iter().filter_map(country_number) {
            set.0[number.index() / 64] |= 1 << (number.index() % 64);
        }
        set
    }

    /// Returns true if the country with this row number is in the set.
    pub(crate) fn contains(&self, number: CountryNumber) -> bool {
        self.0[number.index() / 64] >> (number.index() % 64) & 1 == 1
    }

    /// Returns true if the set has no countries.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the country with this row number.
pub(crate) fn country_by_number(number: CountryNumber) -> &'static Country {
    &COUNTRIES[number.index()]
}

/// Returns the row number of a region.
pub(crate) fn region_number(iso: &str) -> Option<RegionNumber> {
    let number = REGIONS.binary_search_by_key(&iso, |row| Region(row).iso()).ok()?;
    Some(RegionNumber(number as u16))
}

/// Returns the region with this row number.
pub(crate) fn region_by_number(number: RegionNumber) -> Region {
    Region(&REGIONS[number.index()])
}

/// Returns a region and the regions that it is part of, innermost first.
pub(crate) fn region_and_ancestors(region: Option<RegionNumber>) -> impl Iterator<Item = RegionNumber> {
    std::iter::successors(region, |number| region_by_number(*number).parent())
}
