//! Places of the system service: the coordinates of postcodes (docs/api/places.md).

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::Value;

use super::client::SystemClient;
use super::public::PublicCall;
use crate::wire::is_eircode;

/// A client for the places of the system service.
pub struct PlaceClient(Arc<SystemClient>);

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
    pub fn new(files: Arc<SystemClient>) -> Self {
        Self(files)
    }

    /// Returns the coordinates of a postcode or an outward code, for a sector those of a postcode in it. If only the
    /// district of a postcode or sector is known, returns its coordinates. Returns `None` if the postcode is not known.
    /// Makes up to three calls of a second each.
    ///
    /// # Errors
    /// Fails if the system service is unavailable or limits the calls of this address. The error has no postcode.
    pub async fn find_postcode(
        &self,
        by: &PublicCall,
        query: &PostcodeQuery,
    ) -> anyhow::Result<Option<PostcodePoint>> {
        let Some(found) = self.search(by, query).await? else { return Ok(None) };
        let (Some(id), Some(source)) = (found["id"].as_str(), found["source"].as_str()) else {
            return Ok(None);
        };
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

    /// Returns the best match of a postcode, or of its [district](district_of) if system does not know the postcode.
    async fn search(&self, by: &PublicCall, query: &PostcodeQuery) -> anyhow::Result<Option<Value>> {
        let postcode = written_out(&query.postcode);
        // Jersey, Guernsey and Man are countries of their own, but people write `GB`.
        let is_of_crown =
            |code: &&str| *code == "GB" && ["JE", "GY", "IM"].iter().any(|area| postcode.starts_with(area));
        let country = query.country.as_deref().filter(|code| is_country_code(code) && !is_of_crown(code));
        for text in [Some(postcode.as_str()), district_of(&postcode)].into_iter().flatten() {
            let mut parameters = vec![("query", text), ("limit", "1")];
            parameters.extend(country.map(|code| ("countryISO", code)));
            let found = self.0.get(by, "/v1/public/addresses", &parameters).await?;
            if let Some(found) = found.filter(|found| is_match(found, &postcode)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns how long background work makes no calls: the circuit breaker is open, or the system service limits the
    /// calls of this address. `None` if calls are possible.
    pub fn blocked_for(&self) -> Option<Duration> {
        self.0.reads_blocked_for()
    }
}

/// Returns a postcode in upper case, with the leading zero of a district of Dublin that people leave out: `D02` for
/// `D2`.
fn written_out(postcode: &str) -> String {
    let postcode = postcode.to_uppercase();
    match postcode.strip_prefix('D') {
        Some(digit) if digit.len() == 1 && digit.bytes().all(|digit| digit.is_ascii_digit()) => {
            format!("D0{digit}")
        }
        _ => postcode,
    }
}

fn is_country_code(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|letter| letter.is_ascii_alphabetic())
}

/// Returns a postcode without spaces, with digits for the letters that look like them. The search takes them for each
/// other too.
fn compact(postcode: &str) -> String {
    let digits = postcode.split_whitespace().flat_map(str::chars).map(|c| match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        c => c,
    });
    digits.collect()
}

/// Returns the district of a text with the form of a British postcode, its beginning from the sector on, or an Eircode:
/// `HR4` of `HR4 9AR` and of `HR4 9`, `H91` of `H91 E2K3`.
pub fn district_of(postcode: &str) -> Option<&str> {
    let (district, inward) = postcode.split_once(' ')?;
    let is_letter_or_digit = |code: &str| code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_outward = (2..=4).contains(&district.len())
        && is_letter_or_digit(district)
        && district.starts_with(|first: char| first.is_ascii_alphabetic())
        && compact(&district[1..]).bytes().any(|byte| byte.is_ascii_digit());
    let inward = compact(inward);
    let is_inward = inward.starts_with(|first: char| first.is_ascii_digit())
        && [1, 3].contains(&inward.len())
        && inward[1..].bytes().all(|byte| byte.is_ascii_uppercase() || b"01".contains(&byte));
    (is_outward && is_inward || is_eircode(&compact(postcode))).then_some(district)
}

/// Returns true if the best match of a search is the postcode, its [district](district_of) or, for a sector, a postcode
/// in it.
fn is_match(found: &Value, postcode: &str) -> bool {
    let found_text = found["text"].as_str().unwrap_or_default();
    let (text, searched) = (compact(found_text), compact(postcode));
    let is_code = found_text.bytes().any(|byte| byte.is_ascii_digit());
    let is_district = || district_of(postcode).is_some_and(|district| compact(district) == text);
    // The unit has two letters more than its sector.
    let is_in_sector = || {
        let sector = text.split_at_checked(text.len().wrapping_sub(2)).map(|(sector, _)| sector);
        sector == Some(&searched) && found_text.contains(' ') && is_code
    };
    match found["type"].as_str() {
        Some("postcode" | "container") if is_code && (text == searched || is_district()) => true,
        Some("postcode") => is_in_sector(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;

    /// Looks up a postcode on behalf of a tenant.
    async fn find(client: &PlaceClient, tenant: &str) -> anyhow::Result<Option<PostcodePoint>> {
        let query = PostcodeQuery { postcode: "LD3 7HR".into(), country: None };
        client.find_postcode(&PublicCall::background(tenant, "1"), &query).await
    }

    fn client(url: &str) -> PlaceClient {
        PlaceClient::new(Arc::new(SystemClient::new(url).unwrap()))
    }

    /// Starts a service that answers six searches with this status, and knows the postcode afterwards.
    async fn service_with_failures(status: u16) -> MockServer {
        let server = MockServer::start().await;
        let failure = ResponseTemplate::new(status).insert_header("retry-after", "30");
        let addresses = || Mock::given(path("/v1/public/addresses"));
        addresses().respond_with(failure).up_to_n_times(6).mount(&server).await;
        let found = json!({"id": "1", "source": "s", "type": "postcode", "text": "LD3 7HR"});
        addresses().respond_with(ResponseTemplate::new(200).set_body_json(found)).mount(&server).await;
        let location =
            ResponseTemplate::new(200).set_body_json(json!({"coordinates": {"lat": 51.9, "lon": -3.4}}));
        Mock::given(path("/v1/public/locations/address")).respond_with(location).mount(&server).await;
        server
    }

    #[test]
    fn a_limit_on_calls_does_not_open_the_breaker() {
        testkit::block_on(async {
            let server = service_with_failures(429).await;
            let client = client(&server.uri());
            assert_eq!(client.blocked_for(), None);
            for tenant in ["a", "b", "c", "a", "b", "c"] {
                let error = find(&client, tenant).await.unwrap_err().to_string();
                assert_eq!(error, "the system service limits the calls of this address");
            }
            assert!(client.blocked_for().is_some(), "background work waits");
            assert_eq!(find(&client, "a").await.unwrap(), Some(PostcodePoint { lat: 51.9, lon: -3.4 }));
            assert_eq!(server.received_requests().await.unwrap().len(), 8, "all calls were made");
        });
    }

    #[test]
    fn failures_of_three_tenants_open_the_breaker() {
        testkit::block_on(async {
            let server = service_with_failures(503).await;
            let client = client(&server.uri());
            for tenant in ["a", "b", "c", "a"] {
                assert!(find(&client, tenant).await.is_err());
            }
            assert!(client.blocked_for().is_some());
            assert_eq!(server.received_requests().await.unwrap().len(), 3);
        });
    }

    #[test]
    fn errors_have_no_postcode() {
        testkit::block_on(async {
            let refused = find(&client("http://127.0.0.1:1"), "a").await.unwrap_err();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let truncate = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await.unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{").await.unwrap();
            };
            let client = client(&url);
            let (truncated, ()) = tokio::join!(find(&client, "a"), truncate);
            for error in [refused, truncated.unwrap_err()] {
                let text = format!("{error:#} {error:?}");
                assert!(!text.contains("LD3") && !text.contains("7HR"), "{text}");
            }
        });
    }

    #[test]
    fn postcodes_are_searched_in_their_country() {
        testkit::block_on(async {
            let server = MockServer::start().await;
            Mock::given(path("/v1/public/addresses"))
                .respond_with(ResponseTemplate::new(404))
                .mount(&server)
                .await;
            let client = client(&server.uri());
            for (postcode, searched) in [
                ("H91 E2K3", "query=H91+E2K3&limit=1&countryISO=GB"),
                ("d2", "query=D02&limit=1&countryISO=GB"),
                ("JE2 3AB", "query=JE2+3AB&limit=1"),
            ] {
                let query = PostcodeQuery { postcode: postcode.into(), country: Some("GB".into()) };
                let found = client.find_postcode(&PublicCall::background("a", "1"), &query).await.unwrap();
                assert_eq!(found, None);
                let requests = server.received_requests().await.unwrap();
                assert!(requests.iter().any(|request| request.url.query() == Some(searched)), "{requests:?}");
            }
        });
    }

    #[test]
    fn postcodes_and_their_districts_match() {
        for (kind, text, postcode, expected) in [
            ("postcode", "LD3 7HR", "LD3 7HR", true),
            ("postcode", "ld37hr", "LD3 7HR", true),
            ("container", "LD3", "LD3 7HR", true),
            ("container", "H91", "H91 E2K3", true),
            ("container", "LD3", "LD3", true),
            ("container", "Brecon", "Brecon", false),
            ("postcode", "LD3 7HS", "LD3 7HR", false),
            ("container", "LD", "LD3 7HR", false),
            ("place", "LD3 7HR", "LD3 7HR", false),
            ("postcode", "75001", "75001", true),
            ("container", "Brecon", "75001", false),
            ("postcode", "SW1A 0AA", "SW1AOAA", true),
            ("container", "Oil", "OIL", false),
            ("container", "Fife", "FIFE 1", false),
            ("container", "LD3", "LD3 7E", false),
            ("container", "LD3", "LD3 FARM", false),
            ("container", "HR4", "HR4 HELLO1", false),
            ("container", "HR4", "HR4 12345", false),
            ("container", "HR4", "HR4 9", true),
            ("container", "SY20", "SY2O OEW", true),
            ("container", "IP1", "IP1 lAA", true),
            ("container", "D6W", "D6W XY00", true),
            ("container", "H91", "H91 E2", false),
            ("container", "JE2", "JE2 3ZZ", true),
            ("postcode", "LD3 7AA", "LD3 7", true),
            ("postcode", "LD3 7AA", "LD37", true),
            ("postcode", "HR4 9AA", "hr49", true),
            ("postcode", "LL5 7AA", "LL5 7", true),
            ("postcode", "LD3 7AA", "LD3", false),
            ("postcode", "LD3 8AA", "LD3 7", false),
            ("postcode", "B11 1AA", "B1 1", false),
            ("postcode", "B1 1AA", "B1", false),
            ("container", "HR1", "HR15", false),
            ("place", "LD3 7AA", "LD3 7", false),
            ("postcode", "A", "", false),
            ("postcode", "É7", "LD3 7", false),
        ] {
            let found = json!({"type": kind, "text": text});
            assert_eq!(is_match(&found, postcode), expected, "{kind} {text} {postcode}");
        }
    }
}
