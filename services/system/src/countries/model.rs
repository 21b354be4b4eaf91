//! Countries and regions as clients see them. What has no value is left out.

use serde::Serialize;
use utoipa::ToSchema;

/// A country.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Country {
    name: &'static str,
    /// ISO 3166-1 alpha-2: `GB`
    iso: &'static str,
    /// ISO 3166-1 alpha-3: `GBR`
    iso3: &'static str,
    /// `true` or `false`, as text.
    #[schema(value_type = String, pattern = "^(true|false)$")]
    enabled: &'static str,
    units: Units,
    /// ISO 4217
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    currency: &'static str,
    /// `+44`
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    calling_code: &'static str,
    /// What a region is called there: `county`.
    zone_descriptor: &'static str,
    /// BCP 47
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    locale: &'static str,
    /// By name.
    continent: &'static str,
}

/// What is measured in there.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Units {
    /// `mile` or `kilometre`
    distance: &'static str,
    /// `tonne` or `ton`
    weight: &'static str,
    /// `litre` or `gallon`
    capacity: &'static str,
    /// `celsius` or `fahrenheit`
    temperature: &'static str,
}

impl Country {
    pub(super) fn of(country: &'static gazetteer::Country, enabled: bool) -> Self {
        Self {
            name: country.name,
            iso: country.iso,
            iso3: country.iso3,
            enabled: if enabled { "true" } else { "false" },
            units: Units {
                distance: country.unit_distance,
                weight: country.unit_weight,
                capacity: country.unit_capacity,
                temperature: country.unit_temperature,
            },
            currency: country.currency,
            calling_code: country.calling_code,
            zone_descriptor: country.zone_descriptor,
            locale: country.locale,
            continent: country.continent,
        }
    }
}

/// The regions of a country.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Regions {
    /// The country's code.
    id: &'static str,
    regions: Vec<Region>,
}

/// A subdivision of a country.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Region {
    /// ISO 3166-2: `GB-HEF`
    iso: &'static str,
    name: &'static str,
    /// Months between routine TB tests of cattle; 0 where not known.
    tb: u32,
    /// The country's code.
    country: &'static str,
    /// The subdivision or nation that it is part of.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    group: &'static str,
    /// Other names.
    aliases: Vec<&'static str>,
}

impl Regions {
    pub(super) fn of(country: &'static str) -> Self {
        let regions = gazetteer::regions(country).map(|region| Region {
            iso: region.iso(),
            name: region.name(),
            tb: region.tb_months(),
            country,
            group: region.group(),
            aliases: region.aliases().collect(),
        });
        Self { id: country, regions: regions.collect() }
    }
}
