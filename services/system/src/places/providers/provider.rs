//! The interface of providers. A deployment has one provider of three-word addresses, whose scheme all `threeWords`
//! belong to, and one geocoder. The embedded ones need no network and are the default.

use common::Error;
use common::validation::{Code, ValidationErrors};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::places::model::{Address, AddressQuery, AddressResult, Coordinates, GeocodedAddress};

/// The result of a call. Fails with 503 if the provider is unreachable or its response is invalid.
pub(in crate::places) type ProviderFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// Name of the embedded geocoder.
pub(in crate::places) const GAZETTEER: &str = "gazetteer";

/// Maximum number of suggestions for a three-word address that does not exist.
const MAX_SUGGESTIONS: usize = 3;

/// A scheme of three-word addresses.
pub(in crate::places) trait WordScheme: Send + Sync {
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
pub(in crate::places) trait Geocoder: Send + Sync {
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
    fn nearest(&self, coordinates: Coordinates) -> ProviderFuture<'_, Address>;

    /// Returns whether the last call succeeded. `None` for a provider without network calls.
    fn is_healthy(&self) -> Option<bool> {
        None
    }
}

/// Creates the 400 for a three-word address that does not exist.
pub(super) fn unknown_words(mut suggestions: Vec<String>) -> Error {
    suggestions.truncate(MAX_SUGGESTIONS);
    let mut errors = ValidationErrors::default();
    let message = "is not a three-word address";
    errors.push_with("query", Code::Format, message, json!({ "suggestions": suggestions }));
    Error::Validation(errors)
}
