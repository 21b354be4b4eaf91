//! Providers of three-word addresses and of postal addresses: the embedded ones, and clients of external services.
//!
//! A deployment has one provider of three-word addresses, whose scheme all `threeWords` belong to, and one geocoder.
//! The embedded ones need no network and are the default.

mod client;
mod embedded;
mod loqate;
mod photon;
mod what3words;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use common::Error;
use common::cli::Checks;
use common::validation::{Code, ValidationErrors};
use futures_util::future::BoxFuture;
use serde_json::json;
use url::Url;

pub(super) use client::ProviderKind;
pub(crate) use client::register_metrics;
pub(super) use embedded::EmbeddedGazetteer;

use super::model::{AddressQuery, AddressResult, Coordinates, GeocodedAddress, NearestAddress};
use crate::cache::SecretReloader;
use crate::config::{AddressProvider, Settings, WordsProvider, setting};
use client::{Credential, KeyLocation, ProviderClient};
use embedded::Grid;
use loqate::Loqate;
use photon::Photon;
use what3words::What3Words;

/// Name of the embedded geocoder.
pub(crate) const GAZETTEER: &str = "gazetteer";
/// Maximum number of suggestions for a three-word address that does not exist.
const MAX_SUGGESTIONS: usize = 3;

/// The result of a call. Fails with 503 if the provider is unreachable or its response is invalid.
pub(crate) type ProviderFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// A scheme of three-word addresses.
pub(crate) trait WordScheme: Send + Sync {
    /// Returns the name that settings and cache keys use.
    fn name(&self) -> &'static str;

    /// Returns the words of the cell that contains these coordinates.
    fn encode(&self, coordinates: Coordinates) -> ProviderFuture<'_, String>;

    /// Returns the words in the spelling of the scheme, and the centre of their cell. Fails with [`unknown_words`] if
    /// no cell has these words.
    fn decode<'a>(&'a self, words: &'a str) -> ProviderFuture<'a, (String, Coordinates)>;

    /// Returns whether the last call succeeded. `None` for a provider without network calls.
    fn is_healthy(&self) -> Option<bool> {
        None
    }
}

/// A gazetteer or address register.
pub(crate) trait Geocoder: Send + Sync {
    /// Returns the name that settings, cache keys and `source` use.
    fn name(&self) -> &'static str;

    /// Returns the settings that affect the matches and their order, as text for cache keys.
    fn search_scope(&self) -> Option<&str> {
        None
    }

    /// Searches addresses, best match first. Fails with 404 if the container does not exist.
    fn search<'a>(&'a self, query: &'a AddressQuery) -> ProviderFuture<'a, Vec<AddressResult>>;

    /// Returns the address of a match by its id. Fails with 404 if it does not exist.
    fn find<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, GeocodedAddress>;

    /// Returns the nearest address or place.
    fn nearest(&self, coordinates: Coordinates) -> ProviderFuture<'_, NearestAddress>;

    /// Returns whether the last call succeeded. `None` for a provider without network calls.
    fn is_healthy(&self) -> Option<bool> {
        None
    }
}

/// Creates the 400 for a three-word address that does not exist.
fn unknown_words(mut suggestions: Vec<String>) -> Error {
    suggestions.truncate(MAX_SUGGESTIONS);
    let mut errors = ValidationErrors::default();
    let message = "is not a three-word address";
    errors.push_with("query", Code::Format, message, json!({ "suggestions": suggestions }));
    Error::Validation(errors)
}

/// The providers of a deployment.
pub(crate) struct Providers {
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
    pub(crate) fn open(
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
    pub(crate) async fn check(settings: &Settings, secrets: &Arc<SecretReloader>, checks: &mut Checks) {
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
