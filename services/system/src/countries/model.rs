//! Countries and regions in responses, and the parsing of country codes. Members without a value are omitted.

use common::validation::{Code, ValidationErrors};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

/// A country.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Country {
    name: &'static str,
    /// ISO 3166-1 alpha-2 code: `GB`
    iso: &'static str,
    /// ISO 3166-1 alpha-3 code: `GBR`
    iso3: &'static str,
    /// The text `true` or `false`.
    #[schema(value_type = String, pattern = "^(true|false)$")]
    enabled: &'static str,
    units: Units,
    /// ISO 4217 code: `GBP`
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    currency: &'static str,
    /// International calling code: `+44`
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    calling_code: &'static str,
    /// The local term for a region: `county`.
    zone_descriptor: &'static str,
    /// BCP 47 tag: `en-GB`
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    locale: &'static str,
    /// Name of the continent.
    continent: &'static str,
}

/// The units that a country uses.
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
    /// Creates the response of a country.
    pub(super) fn new(country: &'static gazetteer::Country, enabled: bool) -> Self {
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
pub(super) struct CountryRegions {
    /// ISO 3166-1 alpha-2 code of the country.
    id: &'static str,
    regions: Vec<Region>,
}

/// The month for which the data on TB testing hold.
const TB_AS_OF: &str = "2026-11";
/// Where the data on TB testing in England come from, and those elsewhere.
const TB_SOURCE_ENGLAND: &str = "GOV.UK: bovine TB risk areas and testing intervals in England";
const TB_SOURCE: &str = "estimate from the general rule of the nation";

/// A subdivision of a country.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    /// ISO 3166-2 code: `GB-HEF`
    iso: &'static str,
    name: &'static str,
    /// Routine cattle TB testing interval in months; 0 if it is not known. Of a region with several intervals the
    /// shortest.
    tb: u32,
    /// The area with this interval: `high-risk`, `edge-6`, `edge-12` or `low-risk` in England, otherwise `wales`,
    /// `scotland`, `northern-ireland` or `ireland`. Absent if the interval is not known.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    tb_area: &'static str,
    /// Where the interval and the area come from.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    tb_source: &'static str,
    /// The month for which they hold, `YYYY-MM`, or a date.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    tb_as_of: &'static str,
    /// ISO 3166-1 alpha-2 code of the country.
    country: &'static str,
    /// The parent subdivision or nation.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(required = false)]
    group: &'static str,
    /// Other names.
    aliases: Vec<&'static str>,
}

impl CountryRegions {
    /// Collects the regions of the country with this code.
    pub(super) fn of_country(country: &'static str) -> Self {
        let regions = gazetteer::regions(country).map(|region| Region {
            iso: region.iso(),
            name: region.name(),
            tb: region.tb_months(),
            tb_area: region.tb_area(),
            tb_source: match region.tb_area() {
                "" => "",
                "high-risk" | "edge-6" | "edge-12" | "low-risk" => TB_SOURCE_ENGLAND,
                _ => TB_SOURCE,
            },
            tb_as_of: if region.tb_area().is_empty() { "" } else { TB_AS_OF },
            country,
            group: region.group(),
            aliases: region.aliases().collect(),
        });
        Self { id: country, regions: regions.collect() }
    }
}

/// Parses the parameter `countryISO`, a country code in any case. Pushes an `enum` error and returns `None` if no
/// country has this code.
pub(crate) fn parse_country_code(text: &str, errors: &mut ValidationErrors) -> Option<String> {
    let code = text.trim().to_ascii_uppercase();
    if gazetteer::country(&code).is_none() {
        let allowed: Vec<_> = gazetteer::countries().iter().map(|country| country.iso).collect();
        let message = "must be the ISO 3166-1 alpha-2 code of a country";
        errors.push_with("countryISO", Code::Enum, message, json!({ "allowed": allowed }));
        return None;
    }
    Some(code)
}
