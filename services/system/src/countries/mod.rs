//! Countries and their regions (interface.md, 2.9 and 2.10), from the embedded tables. Nothing of them changes while
//! the service runs, so the answers are written once.

mod api;
mod enabled;
mod model;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::Error;
use common::validation::{Code, ValidationErrors};
use gazetteer::{countries, country};
use serde_json::json;
use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use enabled::read as enabled;
use model::{Country, Regions};

pub(crate) fn routes(group: &mut ServiceConfig) {
    group.service(api::list);
    group.service(api::regions);
}

/// The answers, as JSON.
pub(crate) struct Countries {
    all: String,
    enabled: String,
    others: String,
    /// By the country's code.
    regions: HashMap<&'static str, String>,
}

impl Countries {
    /// Writes the answers, with these countries enabled.
    ///
    /// # Errors
    /// If an answer cannot be written.
    pub(crate) fn open(enabled: &BTreeSet<String>) -> anyhow::Result<Self> {
        let list = |wanted: Option<bool>| {
            let all = countries().iter().map(|country| (country, enabled.contains(country.iso)));
            let some = all.filter(|(_, is_enabled)| wanted.is_none_or(|wanted| wanted == *is_enabled));
            let by_code = some.map(|(country, is_enabled)| (country.iso, Country::of(country, is_enabled)));
            serde_json::to_string(&by_code.collect::<BTreeMap<_, _>>())
        };
        let regions = countries().iter().map(|country| {
            let regions = Regions::of(country.iso);
            Ok((country.iso, serde_json::to_string(&regions)?))
        });
        Ok(Self {
            all: list(None)?,
            enabled: list(Some(true))?,
            others: list(Some(false))?,
            regions: regions.collect::<Result<_, serde_json::Error>>()?,
        })
    }

    fn list(&self, enabled: Option<bool>) -> String {
        match enabled {
            None => self.all.clone(),
            Some(true) => self.enabled.clone(),
            Some(false) => self.others.clone(),
        }
    }

    fn regions(&self, country: &str) -> Result<String, Error> {
        self.regions.get(country).cloned().ok_or(Error::NotFound)
    }
}

/// The code of the country that the parameter `countryISO` names in any case, if there is such a country.
pub(crate) fn known(text: &str, errors: &mut ValidationErrors) -> Option<String> {
    let iso = text.trim().to_ascii_uppercase();
    if country(&iso).is_none() {
        let allowed: Vec<_> = countries().iter().map(|country| country.iso).collect();
        let message = "must be the ISO 3166-1 alpha-2 code of a country";
        errors.push_with("countryISO", Code::Enum, message, json!({ "allowed": allowed }));
        return None;
    }
    Some(iso)
}
