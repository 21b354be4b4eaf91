//! The providers that the configuration names.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use url::Url;

use super::Places;
use super::credential::Credential;
use super::embedded::{Embedded, Grid};
use super::loqate::Loqate;
use super::photon::Photon;
use super::provider::{Addresses, Words};
use super::upstream::{ADDRESSES, KeyIn, Upstream, WORDS};
use super::what3words::What3Words;
use crate::cache::{Cache, Secrets};
use crate::config::{AddressProvider, Settings, WordsProvider};

impl Places {
    /// # Errors
    /// One sentence that names the setting which is missing or wrong.
    pub(crate) fn open(
        settings: &Settings,
        enabled: &BTreeSet<String>,
        cache: Cache,
        secrets: &Arc<Secrets>,
    ) -> anyhow::Result<Self> {
        let embedded = Embedded::open(enabled);
        let words: Box<dyn Words> = match settings.words_provider {
            WordsProvider::Grid => Box::new(Grid(gazetteer::Grid::open())),
            WordsProvider::What3words => Box::new(What3Words(what3words(settings, secrets)?)),
        };
        let addresses: Box<dyn Addresses> = match settings.address_provider {
            AddressProvider::Gazetteer => Box::new(embedded.clone()),
            AddressProvider::Loqate => {
                let file = settings.address_key_file.as_deref();
                let key = Credential::open("address_key", settings.address_key.as_ref(), file, secrets)?;
                let upstream = addresses(settings, Some((KeyIn::Query("Key"), key)))?;
                Box::new(Loqate { upstream, embedded: embedded.clone() })
            }
            AddressProvider::Photon => {
                Box::new(Photon { upstream: addresses(settings, None)?, embedded: embedded.clone() })
            }
        };
        Ok(Self { words, addresses, embedded, fallback: settings.address_fallback, cache })
    }
}

fn what3words(settings: &Settings, secrets: &Arc<Secrets>) -> anyhow::Result<Upstream> {
    let file = settings.words_key_file.as_deref();
    let key = Credential::open("words_key", settings.words_key.as_ref(), file, secrets)?;
    let base = base("words_url", settings.words_url.as_ref())?;
    Upstream::new(WORDS, base, Some((KeyIn::Header("X-Api-Key"), key)), patience(settings))
}

fn addresses(settings: &Settings, key: Option<(KeyIn, Credential)>) -> anyhow::Result<Upstream> {
    let base = base("address_url", settings.address_url.as_ref())?;
    Upstream::new(ADDRESSES, base, key, patience(settings))
}

fn base(setting: &str, url: Option<&Url>) -> anyhow::Result<Url> {
    let url = url.with_context(|| format!("service.{setting} must be set: where the provider is"))?;
    let usable = ["http", "https"].contains(&url.scheme()) && url.has_host();
    anyhow::ensure!(usable, "service.{setting} is no http address: {url}");
    Ok(url.clone())
}

fn patience(settings: &Settings) -> Duration {
    Duration::from_millis(settings.provider_timeout_ms)
}
