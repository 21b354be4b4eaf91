//! Three-word addresses from a service with the what3words API, version 3.

use anyhow::{Context, bail};
use common::Error;
use serde::Deserialize;

use super::client::{ProviderClient, ProviderResponse};
use super::{ProviderFuture, WordScheme, unknown_words};
use crate::places::model::Coordinates;

/// A what3words service.
pub(super) struct What3Words(pub ProviderClient);

/// The response of both conversions.
#[derive(Deserialize)]
struct Square {
    words: String,
    coordinates: SquareCentre,
}

#[derive(Deserialize)]
struct SquareCentre {
    lat: f64,
    lng: f64,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: ErrorCode,
}

#[derive(Deserialize)]
struct ErrorCode {
    code: String,
}

#[derive(Default, Deserialize)]
struct Suggestions {
    suggestions: Vec<Suggestion>,
}

#[derive(Deserialize)]
struct Suggestion {
    words: String,
}

impl WordScheme for What3Words {
    fn name(&self) -> &'static str {
        "what3words"
    }

    fn encode(&self, coordinates: Coordinates) -> ProviderFuture<'_, String> {
        Box::pin(async move {
            let coordinates = coordinates.to_string();
            let query = [("coordinates", coordinates.as_str())];
            let parse = |response: ProviderResponse| {
                let (words, _) =
                    parse_square(&response)?.context("the response has no words for the point")?;
                Ok(words)
            };
            self.0.get("v3/convert-to-3wa", &query, parse).await
        })
    }

    fn decode<'a>(&'a self, words: &'a str) -> ProviderFuture<'a, (String, Coordinates)> {
        Box::pin(async move {
            // Saves a call, because every call is charged for.
            if words.split('.').count() != 3 {
                return Err(unknown_words(Vec::new()));
            }
            let parse = |response| parse_square(&response);
            match self.0.get("v3/convert-to-coordinates", &[("words", words)], parse).await? {
                Some(square) => Ok(square),
                None => Err(unknown_words(self.suggest(words).await?)),
            }
        })
    }

    fn is_healthy(&self) -> Option<bool> {
        Some(self.0.is_healthy())
    }
}

impl What3Words {
    async fn suggest(&self, words: &str) -> Result<Vec<String>, Error> {
        // The service responds with 400 to input that is too different from three words. It has no suggestions then.
        let parse = |response: ProviderResponse| {
            if response.status == 400 { Ok(Suggestions::default()) } else { response.success() }
        };
        let query = [("input", words), ("n-results", "3")];
        let response = self.0.get("v3/autosuggest", &query, parse).await?;
        Ok(response.suggestions.into_iter().map(|suggestion| suggestion.words).collect())
    }
}

/// Returns the words and the centre of their square. `None` if the service does not know the words.
fn parse_square(response: &ProviderResponse) -> anyhow::Result<Option<(String, Coordinates)>> {
    if let Ok(ErrorResponse { error }) = response.json() {
        if response.status == 400 && error.code == "BadWords" {
            return Ok(None);
        }
        // The error's text is left out: it may repeat the request.
        bail!("the response has status {} and an error", response.status);
    }
    let Square { words, coordinates } = response.success()?;
    let coordinates = Coordinates::new(coordinates.lat, coordinates.lng)
        .context("the response has coordinates out of range")?;
    Ok(Some((words, coordinates)))
}
