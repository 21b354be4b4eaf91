//! The embedded three-word grid.

use std::future::ready;

use super::provider::{ProviderFuture, WordScheme, unknown_words};
use crate::places::model::Coordinates;

/// The open three-word scheme of the gazetteer crate.
pub(super) struct Grid(pub gazetteer::Grid);

impl WordScheme for Grid {
    fn name(&self) -> &'static str {
        "grid"
    }

    fn encode(&self, coordinates: Coordinates) -> ProviderFuture<'_, String> {
        Box::pin(ready(Ok(self.0.encode(coordinates.lat, coordinates.lon))))
    }

    fn decode<'a>(&'a self, words: &'a str) -> ProviderFuture<'a, (String, Coordinates)> {
        let decoded = self.0.decode(words).map_err(|unknown| unknown_words(unknown.suggestions));
        Box::pin(ready(decoded.map(|(lat, lon)| (words.to_owned(), Coordinates { lat, lon }))))
    }
}
