//! Places of the system service: the coordinates of postcodes (docs/api/places.md).

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::Value;

use super::files::{FileClient, PublicCall};

/// A client for the places of the system service.
pub struct PlaceClient(Arc<FileClient>);

/// A postcode to look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostcodeQuery {
    /// The postcode in its normalized form.
    pub postcode: String,
    /// The ISO 3166-1 alpha-2 code of its country, if it is known.
    pub country: Option<String>,
}

/// Degrees north and east.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostcodePoint {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
}

impl PlaceClient {
    /// Creates a client that makes its calls through this one.
    pub fn new(files: Arc<FileClient>) -> Self {
        Self(files)
    }

    /// Returns the coordinates of a postcode; those of its district if only that is known. Returns `None` if the
    /// postcode is not known. Makes up to two calls of a second each.
    ///
    /// # Errors
    /// Fails if the system service is unavailable.
    pub async fn find_postcode(
        &self,
        by: &PublicCall,
        query: &PostcodeQuery,
    ) -> anyhow::Result<Option<PostcodePoint>> {
        let mut parameters = vec![("query", query.postcode.as_str()), ("limit", "1")];
        let country = query.country.as_deref().filter(|code| is_country_code(code));
        parameters.extend(country.map(|code| ("countryISO", code)));
        let Some(found) = self.0.get(by, "/v1/public/addresses", &parameters).await? else {
            return Ok(None);
        };
        let (Some(id), Some(source)) = (found["id"].as_str(), found["source"].as_str()) else {
            return Ok(None);
        };
        if !is_match(&found, &query.postcode) {
            return Ok(None);
        }
        let parameters = [("id", id), ("source", source)];
        let Some(location) = self.0.get(by, "/v1/public/locations/address", &parameters).await? else {
            return Ok(None);
        };
        let coordinates = &location["coordinates"];
        let (lat, lon) = (coordinates["lat"].as_f64(), coordinates["lon"].as_f64());
        let point = lat.zip(lon).map(|(lat, lon)| PostcodePoint { lat, lon });
        let in_range = point.filter(|point| point.lat.abs() <= 90.0 && point.lon.abs() <= 180.0);
        in_range.map(Some).ok_or_else(|| anyhow!("the location has no coordinates"))
    }

    /// Returns how long the circuit breaker stays open, or `None` if calls are possible.
    pub fn blocked_for(&self) -> Option<Duration> {
        self.0.reads_blocked_for()
    }
}

fn is_country_code(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|letter| letter.is_ascii_alphabetic())
}

/// Returns true if the best match of a search is the postcode, or the district that is its part before the space.
fn is_match(found: &Value, postcode: &str) -> bool {
    let compact = |text: &str| text.split_whitespace().collect::<String>().to_uppercase();
    let text = compact(found["text"].as_str().unwrap_or_default());
    let is_district = |district: &str| compact(district) == text;
    match found["type"].as_str() {
        Some("postcode") if text == compact(postcode) => true,
        Some("postcode" | "container") => postcode.split_once(' ').is_some_and(|(part, _)| is_district(part)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn postcodes_and_their_districts_match() {
        for (kind, text, postcode, expected) in [
            ("postcode", "LD3 7HR", "LD3 7HR", true),
            ("postcode", "ld37hr", "LD3 7HR", true),
            ("container", "LD3", "LD3 7HR", true),
            ("container", "H91", "H91 E2K3", true),
            ("postcode", "LD3 7HS", "LD3 7HR", false),
            ("container", "LD", "LD3 7HR", false),
            ("place", "LD3 7HR", "LD3 7HR", false),
            ("postcode", "75001", "75001", true),
            ("container", "Brecon", "75001", false),
        ] {
            let found = json!({"type": kind, "text": text});
            assert_eq!(is_match(&found, postcode), expected, "{kind} {text} {postcode}");
        }
    }
}
