//! Tests of places, with the embedded providers and with stubs of the external ones.

mod caching;
mod key_reload;
mod locations;
pub mod loqate;
mod photon;
mod provider_failures;
mod route_groups;
mod search;
mod what3words;

use std::ops::Deref;

use serde_json::Value;
use system::{AddressProvider, Settings, System, WordsProvider};
use testkit::{App, Backend, TestRequest, TestResponse};
use wiremock::MockServer;

use crate::with_temp_store;

/// API key of every stub.
pub const KEY: &str = "AA11-SECRET-KEY";

/// A service with its own content store.
pub struct Places {
    app: App,
    _folder: tempfile::TempDir,
}

impl Deref for Places {
    type Target = App;
    fn deref(&self) -> &App {
        &self.app
    }
}

/// Starts a service with the embedded providers.
pub async fn start() -> Places {
    start_with(Settings::default()).await
}

/// Starts a service with these settings.
pub async fn start_with(settings: Settings) -> Places {
    let (settings, folder) = with_temp_store(settings);
    let app = App::start::<System>(Backend::Sqlite, settings).await;
    Places { app, _folder: folder }
}

/// Returns settings that take three-word addresses from a stub.
fn words_from(stub: &MockServer) -> Settings {
    Settings {
        words_provider: WordsProvider::What3words,
        words_url: Some(stub.uri().parse().unwrap()),
        words_key: Some(KEY.into()),
        provider_timeout_ms: 500,
        ..Settings::default()
    }
}

/// Returns settings that take addresses from a stub.
fn addresses_from(provider: AddressProvider, stub: &MockServer) -> Settings {
    Settings {
        address_provider: provider,
        address_url: Some(stub.uri().parse().unwrap()),
        address_key: Some(KEY.into()),
        provider_timeout_ms: 500,
        ..Settings::default()
    }
}

/// Returns the number of requests that a stub received.
async fn calls(stub: &MockServer) -> usize {
    stub.received_requests().await.unwrap().len()
}

impl Places {
    /// Prepares `GET path` with these query parameters.
    fn get_with(&self, path: &str, parameters: &[(&str, &str)]) -> TestRequest {
        let mut url = url::Url::parse("http://x").unwrap();
        url.query_pairs_mut().extend_pairs(parameters);
        self.get(&format!("{path}?{}", url.query().unwrap()))
    }

    async fn search(&self, parameters: &[(&str, &str)]) -> TestResponse {
        self.get_with("/v1/addresses", parameters).send().await
    }

    async fn by_words(&self, query: &str) -> TestResponse {
        self.get_with("/v1/locations/three-words", &[("query", query)]).send().await
    }

    async fn by_id(&self, source: &str, id: &str) -> TestResponse {
        self.get_with("/v1/locations/address", &[("id", id), ("source", source)]).send().await
    }

    async fn by_coordinates(&self, lat: impl ToString, lon: impl ToString) -> TestResponse {
        let (lat, lon) = (lat.to_string(), lon.to_string());
        self.get_with("/v1/locations/coordinates", &[("lat", &lat), ("lon", &lon)]).send().await
    }
}

/// Returns a member of each result.
fn all<'a>(response: &'a Value, member: &str) -> Vec<&'a str> {
    response["results"].as_array().unwrap().iter().map(|result| result[member].as_str().unwrap()).collect()
}

/// Asserts that a location has all three members, a country and no empty text.
fn assert_complete(location: &Value) {
    let distance = location.get("distanceKm").map(|distance| distance.as_f64().unwrap());
    assert!(distance.is_none_or(|distance| distance >= 0.0), "{location}");
    assert_eq!(location.as_object().unwrap().len(), 3 + usize::from(distance.is_some()), "{location}");
    assert!(location["threeWords"].is_string() && location["coordinates"]["lat"].is_number(), "{location}");
    assert!(location["coordinates"]["lon"].is_number(), "{location}");
    let address = location["address"].as_object().unwrap();
    assert!(address.values().all(|value| value.as_str().is_some_and(|text| !text.is_empty())), "{location}");
    let is_at_sea = address.len() == 1 && address.contains_key("name");
    let has_country = address.get("countryISO").is_some() && address.get("countryName").is_some();
    assert!(has_country || is_at_sea, "{location}");
}
