//! Countries and their regions, from the tables embedded in the program (docs/api/places.md, "Countries and regions").
//!
//! The enabled countries are those of `service.countries_file`, or else those of `service.enabled_countries`.

mod handlers;
mod model;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, ensure};
use common::Error;
use common::cli::Checks;
use gazetteer::countries;
use serde::Deserialize;

pub(crate) use handlers::routes;
pub(crate) use model::parse_country_code;

use crate::Settings;
use crate::config::setting;
use model::{Country, CountryRegions};

/// The responses as JSON text. They are serialized once at startup, because their data never changes while the service
/// runs.
pub(crate) struct Countries {
    all: String,
    enabled: String,
    disabled: String,
    /// Keys are country codes.
    regions: HashMap<&'static str, String>,
}

impl Countries {
    /// Serializes the responses, given the codes of the enabled countries.
    ///
    /// # Errors
    /// Fails if a response cannot be serialized.
    pub(crate) fn open(enabled: &BTreeSet<String>) -> anyhow::Result<Self> {
        let list = |filter: Option<bool>| {
            let with_state = countries().iter().map(|country| (country, enabled.contains(country.iso)));
            let matching = with_state.filter(|(_, enabled)| filter.is_none_or(|filter| filter == *enabled));
            let by_code = matching.map(|(country, enabled)| (country.iso, Country::new(country, enabled)));
            serde_json::to_string(&by_code.collect::<BTreeMap<_, _>>())
        };
        let regions = countries().iter().map(|country| {
            Ok((country.iso, serde_json::to_string(&CountryRegions::of_country(country.iso))?))
        });
        Ok(Self {
            all: list(None)?,
            enabled: list(Some(true))?,
            disabled: list(Some(false))?,
            regions: regions.collect::<Result<_, serde_json::Error>>()?,
        })
    }

    /// Returns the countries by code: all, the enabled ones, or the others.
    fn list(&self, enabled: Option<bool>) -> String {
        match enabled {
            None => self.all.clone(),
            Some(true) => self.enabled.clone(),
            Some(false) => self.disabled.clone(),
        }
    }

    /// Returns the regions of a country.
    ///
    /// # Errors
    /// Fails with 404 if no country has this code.
    fn regions(&self, country_code: &str) -> Result<String, Error> {
        self.regions.get(country_code).cloned().ok_or(Error::NotFound)
    }
}

/// A row of the file. Other columns are ignored.
#[derive(Deserialize)]
struct CountryRow {
    iso: String,
}

/// Returns the codes of the enabled countries, in upper case.
///
/// # Errors
/// Fails if the file cannot be read or a code is unknown. The message names the setting.
pub(crate) fn read_enabled(settings: &Settings) -> anyhow::Result<BTreeSet<String>> {
    let (codes, name) = match &settings.countries_file {
        Some(path) => (read_file(path)?, "countries_file"),
        None => (settings.enabled_countries.clone(), "enabled_countries"),
    };
    let codes: BTreeSet<_> = codes.iter().map(|code| code.trim().to_ascii_uppercase()).collect();
    for code in &codes {
        ensure!(
            gazetteer::country(code).is_some(),
            "{} contains `{code}`: use ISO 3166-1 alpha-2 codes such as GB",
            setting(name)
        );
    }
    Ok(codes)
}

/// Checks that the codes can be read.
pub(crate) async fn check(settings: &Settings, checks: &mut Checks) {
    let remedy = format!("change {} or {}", setting("enabled_countries"), setting("countries_file"));
    let found = read_enabled(settings).map(|codes| format!("{} enabled", codes.len()));
    checks.run("countries", &remedy, async { found }).await;
}

fn read_file(path: &Path) -> anyhow::Result<Vec<String>> {
    let context = || {
        format!(
            "cannot read {}: set {} to a CSV file with a column `iso`",
            path.display(),
            setting("countries_file")
        )
    };
    let rows = csv::Reader::from_path(path).with_context(context)?.into_deserialize::<CountryRow>();
    rows.map(|row| Ok(row?.iso)).collect::<Result<_, csv::Error>>().with_context(context)
}
