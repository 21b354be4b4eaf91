//! What a provider must do. Each deployment has one of three words, whose scheme every `threeWords` is of, and one
//! of addresses; the embedded ones need no network and are the default.

use common::Error;
use common::validation::{Code, ValidationErrors};
use futures_util::future::BoxFuture;
use serde_json::json;

use super::model::{Address, AddressQuery, AddressResult, Coordinates, GeocodedAddress};

/// An answer on its way. 503 where the provider cannot be reached or answers with nonsense.
pub(super) type ProviderFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// The name of the embedded provider of addresses.
pub(super) const GAZETTEER: &str = "gazetteer";

/// A scheme of three-word addresses.
pub(super) trait Words: Send + Sync {
    /// What configuration and cache keys call it.
    fn name(&self) -> &'static str;
    /// The words of the cell that the point is in.
    fn encode(&self, at: Coordinates) -> ProviderFuture<'_, String>;
    /// The words as the scheme writes them, and the centre of their cell; [`not_words`] if they are of none.
    fn decode<'a>(&'a self, words: &'a str) -> ProviderFuture<'a, (String, Coordinates)>;
    /// Whether the last call went well; nothing where nothing is called.
    fn health(&self) -> Option<bool> {
        None
    }
}

/// A gazetteer or a register of addresses.
pub(super) trait Addresses: Send + Sync {
    /// What configuration, cache keys and `source` call it.
    fn name(&self) -> &'static str;
    /// The settings that its matches and their order depend on, for cache keys.
    fn search_scope(&self) -> Option<&str> {
        None
    }
    /// Matches, best first; 404 for a container that is not there.
    fn search<'a>(&'a self, wanted: &'a AddressQuery) -> ProviderFuture<'a, Vec<AddressResult>>;
    /// The address by the id of a match; 404 if there is none.
    fn find<'a>(&'a self, id: &'a str) -> ProviderFuture<'a, GeocodedAddress>;
    /// The nearest address or place.
    fn nearest(&self, at: Coordinates) -> ProviderFuture<'_, Address>;
    /// Whether the last call went well; nothing where nothing is called.
    fn health(&self) -> Option<bool> {
        None
    }
}

/// 400 for what is no three-word address, with what may have been meant.
pub(super) fn not_words(mut suggestions: Vec<String>) -> Error {
    suggestions.truncate(3);
    let mut errors = ValidationErrors::default();
    let message = "is no three-word address";
    errors.push_with("query", Code::Format, message, json!({ "suggestions": suggestions }));
    Error::Validation(errors)
}
