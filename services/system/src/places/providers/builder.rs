//! Construction of the providers that the settings name.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use common::cli::Checks;
use url::Url;

use super::client::{KeyLocation, ProviderClient, ProviderKind};
use super::credential::Credential;
use super::embedded_gazetteer::EmbeddedGazetteer;
use super::grid::Grid;
use super::loqate::Loqate;
use super::photon::Photon;
use super::provider::{Geocoder, WordScheme};
use super::what3words::What3Words;
use crate::cache::SecretReloader;
use crate::config::{AddressProvider, Settings, WordsProvider, setting};

/// The providers of a deployment.
pub(in crate::places) struct Providers {
    /// The scheme of all three-word addresses.
    pub words: Box<dyn WordScheme>,
    /// The configured geocoder.
    pub geocoder: Box<dyn Geocoder>,
    /// The embedded geocoder, which may also be the configured one.
    pub gazetteer: EmbeddedGazetteer,
}

impl Providers {
    /// Builds the providers. `enabled` are the codes of the enabled countries.
    ///
    /// # Errors
    /// Fails if a setting is missing or invalid. The message names it.
    pub(in crate::places) fn open(
        settings: &Settings,
        enabled: &BTreeSet<String>,
        secrets: &Arc<SecretReloader>,
    ) -> anyhow::Result<Self> {
        let gazetteer = EmbeddedGazetteer::open(enabled);
        let words = open_words(settings, secrets)?;
        let geocoder = open_geocoder(settings, &gazetteer, secrets)?;
        Ok(Self { words, geocoder, gazetteer })
    }

    /// Checks the settings of the providers. Calls none of them.
    pub(in crate::places) async fn check(
        settings: &Settings,
        secrets: &Arc<SecretReloader>,
        checks: &mut Checks,
    ) {
        let found = |name: &str| Ok(name.to_owned());
        let remedy = |name: &str| format!("change {} or the settings beside it", setting(name));
        let words = open_words(settings, secrets).and_then(|words| found(words.name()));
        checks.run("words", &remedy("words_provider"), async { words }).await;
        let gazetteer = EmbeddedGazetteer::open(&BTreeSet::new());
        let geocoder = open_geocoder(settings, &gazetteer, secrets);
        let geocoder = geocoder.and_then(|geocoder| found(geocoder.name()));
        checks.run("addresses", &remedy("address_provider"), async { geocoder }).await;
    }
}

fn open_words(settings: &Settings, secrets: &Arc<SecretReloader>) -> anyhow::Result<Box<dyn WordScheme>> {
    Ok(match settings.words_provider {
        WordsProvider::Grid => Box::new(Grid(gazetteer::Grid::open())),
        WordsProvider::What3words => Box::new(What3Words(words_client(settings, secrets)?)),
    })
}

fn open_geocoder(
    settings: &Settings,
    gazetteer: &EmbeddedGazetteer,
    secrets: &Arc<SecretReloader>,
) -> anyhow::Result<Box<dyn Geocoder>> {
    Ok(match settings.address_provider {
        AddressProvider::Gazetteer => Box::new(gazetteer.clone()),
        AddressProvider::Loqate => {
            let file = settings.address_key_file.as_deref();
            let key = Credential::open("address_key", settings.address_key.as_ref(), file, secrets)?;
            let client = address_client(settings, Some((KeyLocation::Query("Key"), key)))?;
            Box::new(Loqate { client, gazetteer: gazetteer.clone() })
        }
        AddressProvider::Photon => {
            Box::new(Photon { client: address_client(settings, None)?, gazetteer: gazetteer.clone() })
        }
    })
}

fn words_client(settings: &Settings, secrets: &Arc<SecretReloader>) -> anyhow::Result<ProviderClient> {
    let file = settings.words_key_file.as_deref();
    let key = Credential::open("words_key", settings.words_key.as_ref(), file, secrets)?;
    let base = base_url("words_url", settings.words_url.as_ref())?;
    let key = Some((KeyLocation::Header("X-Api-Key"), key));
    ProviderClient::new(ProviderKind::Words, base, key, call_timeout(settings))
}

fn address_client(
    settings: &Settings,
    key: Option<(KeyLocation, Credential)>,
) -> anyhow::Result<ProviderClient> {
    let base = base_url("address_url", settings.address_url.as_ref())?;
    ProviderClient::new(ProviderKind::Addresses, base, key, call_timeout(settings))
}

fn base_url(name: &str, url: Option<&Url>) -> anyhow::Result<Url> {
    let url = url.with_context(|| format!("{} is not set: set it to the provider's URL", setting(name)))?;
    let is_valid = ["http", "https"].contains(&url.scheme()) && url.has_host();
    ensure!(is_valid, "{} is {url}: set it to an http:// or https:// URL", setting(name));
    Ok(url.clone())
}

fn call_timeout(settings: &Settings) -> Duration {
    Duration::from_millis(settings.provider_timeout_ms)
}
