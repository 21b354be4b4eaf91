//! Three words from a service that speaks the what3words API, version 3.

use anyhow::{Context, bail};
use serde::Deserialize;

use super::key;
use super::model::Coordinates;
use super::provider::{ProviderFuture, Words, not_words};
use super::upstream::{Reply, Upstream};

/// The name of the provider.
pub(super) const NAME: &str = "what3words";

/// See the module.
pub(super) struct What3Words(pub Upstream);

/// Of both conversions.
#[derive(Deserialize)]
struct Converted {
    words: String,
    coordinates: Centre,
}

#[derive(Deserialize)]
struct Centre {
    lat: f64,
    lng: f64,
}

#[derive(Deserialize)]
struct Refused {
    error: Refusal,
}

#[derive(Deserialize)]
struct Refusal {
    code: String,
}

#[derive(Default, Deserialize)]
struct Suggested {
    suggestions: Vec<Suggestion>,
}

#[derive(Deserialize)]
struct Suggestion {
    words: String,
}

impl Words for What3Words {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encode(&self, at: Coordinates) -> ProviderFuture<'_, String> {
        Box::pin(async move {
            let coordinates = key::coordinates(at);
            let query = [("coordinates", coordinates.as_str())];
            let read = |reply: Reply| Ok(converted(&reply)?.context("it knows no words for a point")?.0);
            self.0.get("v3/convert-to-3wa", &query, read).await
        })
    }

    fn decode<'a>(&'a self, words: &'a str) -> ProviderFuture<'a, (String, Coordinates)> {
        Box::pin(async move {
            // What has not three parts is asked of nobody: each question costs.
            if words.split('.').count() != 3 {
                return Err(not_words(Vec::new()));
            }
            let found =
                self.0.get("v3/convert-to-coordinates", &[("words", words)], |r| converted(&r)).await?;
            match found {
                Some(found) => Ok(found),
                None => Err(not_words(self.suggest(words).await?)),
            }
        })
    }

    fn health(&self) -> Option<bool> {
        Some(self.0.is_well())
    }
}

impl What3Words {
    async fn suggest(&self, words: &str) -> Result<Vec<String>, common::Error> {
        // What is too far from three words is refused here too, and has no near spelling.
        let read =
            |reply: Reply| if reply.status == 400 { Ok(Suggested::default()) } else { reply.success() };
        let found = self.0.get("v3/autosuggest", &[("input", words), ("n-results", "3")], read).await?;
        Ok(found.suggestions.into_iter().map(|suggestion| suggestion.words).collect())
    }
}

/// Words and the centre of their square; nothing if they are none.
fn converted(reply: &Reply) -> anyhow::Result<Option<(String, Coordinates)>> {
    if let Ok(Refused { error }) = reply.json() {
        if reply.status == 400 && error.code == "BadWords" {
            return Ok(None);
        }
        // Its own words may repeat what was asked.
        bail!("it answered {} with an error", reply.status);
    }
    let Converted { words, coordinates } = reply.success()?;
    let at =
        Coordinates::new(coordinates.lat, coordinates.lng).context("the coordinates are off the globe")?;
    Ok(Some((words, at)))
}
