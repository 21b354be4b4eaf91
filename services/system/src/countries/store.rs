//! The responses on countries and regions. They are serialized once at startup, because their data never changes while
//! the service runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::Error;
use gazetteer::countries;

use super::model::{Country, CountryRegions};

/// Responses as JSON text.
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
    pub(super) fn list(&self, enabled: Option<bool>) -> String {
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
    pub(super) fn regions(&self, country_code: &str) -> Result<String, Error> {
        self.regions.get(country_code).cloned().ok_or(Error::NotFound)
    }
}
