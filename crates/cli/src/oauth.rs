//! Tokens of an OpenID provider by the device flow (RFC 8628), tokens of service accounts (RFC 6749, section 4.4), and
//! their renewal.

use std::time::Duration;

use chrono::Utc;
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;

use crate::error::Failure;
use crate::http::{chain, is_secure};
use crate::output;
use crate::profile::{Proof, Renewal, Secret, Token};

/// The pause between two polls that RFC 8628 prescribes if the provider names none, and what `slow_down` adds.
const POLL_SECONDS: u64 = 5;
const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// What a token endpoint granted.
pub struct Granted {
    /// The token.
    pub token: Token,
    /// The refresh token that replaces the one that was used.
    pub refresh_token: Option<Secret>,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: Secret,
    expires_in: Option<i64>,
    refresh_token: Option<Secret>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    token_endpoint: Url,
    device_authorization_endpoint: Option<Url>,
}

#[derive(Deserialize)]
struct DeviceAuthorization {
    device_code: Secret,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

/// Gets another token.
pub async fn renew(http: &reqwest::Client, renewal: &mut Renewal) -> Result<Granted, Failure> {
    let (endpoint, client_id) = (&renewal.endpoint, renewal.client_id.as_str());
    let request = http.post(endpoint.clone());
    let request = match &renewal.proof {
        Proof::ClientSecret(secret) => request
            .basic_auth(encoded(client_id), Some(encoded(secret.reveal())))
            .form(&[("grant_type", "client_credentials")]),
        Proof::RefreshToken(token) => request.form(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", token.reveal()),
            ("client_id", client_id),
        ]),
    };
    match exchange(request, endpoint).await? {
        Ok(body) => granted(body, endpoint),
        Err(error) => Err(refused(&error)),
    }
}

/// Encodes a part of HTTP Basic as RFC 6749, section 2.3.1 prescribes.
fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Logs a user in who confirms a code in a browser on any device. Returns the token endpoint and its response.
pub async fn device_flow(
    http: &reqwest::Client,
    issuer: &Url,
    client_id: &str,
    scope: &str,
) -> Result<(Url, Granted), Failure> {
    if !is_secure(issuer) {
        let message = "The URL of an issuer must begin with https://, unless it is on this machine.";
        return Err(Failure::Usage(message.to_owned()));
    }
    let name = issuer.as_str().trim_end_matches('/');
    let address = format!("{name}/.well-known/openid-configuration");
    let address = Url::parse(&address).map_err(|_| Failure::Usage(format!("{address} is not a URL.")))?;
    let found = exchange(http.get(address.clone()), &address).await?.map_err(|error| refused(&error))?;
    let wrong = |what: &str| Failure::Local(format!("{address} {what}."));
    let found: Discovery = serde_json::from_value(found)
        .map_err(|_| wrong("does not return the metadata of an OpenID provider"))?;
    if found.issuer.trim_end_matches('/') != name {
        return Err(wrong("names another issuer"));
    }
    let endpoint = found.device_authorization_endpoint.ok_or_else(|| wrong("has no device flow"))?;
    let request = http.post(endpoint.clone()).form(&[("client_id", client_id), ("scope", scope)]);
    let begun = exchange(request, &endpoint).await?.map_err(|error| refused(&error))?;
    let begun: DeviceAuthorization = serde_json::from_value(begun)
        .map_err(|_| Failure::Local(format!("{endpoint} did not answer as RFC 8628 requires.")))?;
    let address = output::clean(begun.verification_uri_complete.as_ref().unwrap_or(&begun.verification_uri));
    output::note(&format!("Open {address}\nand confirm the code {}.", output::clean(&begun.user_code)));

    let mut interval = begun.interval.unwrap_or(POLL_SECONDS);
    let mut left = begun.expires_in;
    while left > 0 {
        tokio::time::sleep(Duration::from_secs(interval)).await;
        left = left.saturating_sub(interval.max(1));
        let fields = [
            ("grant_type", DEVICE_GRANT),
            ("device_code", begun.device_code.reveal()),
            ("client_id", client_id),
        ];
        let answer =
            exchange(http.post(found.token_endpoint.clone()).form(&fields), &found.token_endpoint).await;
        match answer {
            Ok(Ok(body)) => {
                let granted = granted(body, &found.token_endpoint)?;
                return Ok((found.token_endpoint, granted));
            }
            Ok(Err(error)) if error["error"] == "authorization_pending" => {}
            Ok(Err(error)) if error["error"] == "slow_down" => interval += POLL_SECONDS,
            Ok(Err(error)) => return Err(refused(&error)),
            // RFC 8628, section 3.5: after a timeout, poll less often.
            Err(Failure::Unreachable(_)) => interval *= 2,
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::NotLoggedIn("The code was not confirmed in time.".to_owned()))
}

/// Sends a request to a provider. Returns the JSON of a success, or of an error of OAuth.
async fn exchange(request: reqwest::RequestBuilder, url: &Url) -> Result<Result<Value, Value>, Failure> {
    let unreachable =
        |error: reqwest::Error| Failure::Unreachable(format!("Cannot reach {url}: {}.", chain(&error)));
    let response = request.header("Accept", "application/json").send().await.map_err(unreachable)?;
    let status = response.status();
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        return Err(Failure::Unreachable(format!("{url} answered with the status {status}.")));
    }
    let body = response.bytes().await.map_err(unreachable)?;
    // The text is not repeated: it may contain a token.
    let body = serde_json::from_slice(&body)
        .map_err(|_| Failure::Local(format!("{url} did not answer with JSON.")))?;
    Ok(if status.is_success() { Ok(body) } else { Err(body) })
}

fn granted(body: Value, url: &Url) -> Result<Granted, Failure> {
    let body: TokenResponse = serde_json::from_value(body)
        .map_err(|_| Failure::Local(format!("{url} did not answer with a token.")))?;
    let expires_at = body.expires_in.map(|seconds| Utc::now().timestamp().saturating_add(seconds));
    Ok(Granted {
        token: Token { access_token: body.access_token, expires_at },
        refresh_token: body.refresh_token,
    })
}

fn refused(error: &Value) -> Failure {
    let text = |member: &str| output::clean(error[member].as_str().unwrap_or_default());
    let detail =
        if error["error_description"].is_string() { text("error_description") } else { text("message") };
    Failure::NotLoggedIn(format!("The log-in was refused: {} {detail}", text("error")).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wiremock::matchers::{body_string_contains, method, path};
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;
    use crate::http::http;

    async fn answer(server: &MockServer, verb: &str, at: &str, status: u16, body: Value, times: u64) {
        let answer = ResponseTemplate::new(status).set_body_json(body);
        Mock::given(method(verb)).and(path(at)).respond_with(answer).up_to_n_times(times).mount(server).await;
    }

    async fn provider(issuer: Option<&str>) -> (MockServer, Url) {
        let server = MockServer::start().await;
        let uri = server.uri();
        let metadata = json!({"issuer": issuer.unwrap_or(&uri), "token_endpoint": format!("{uri}/token"),
            "device_authorization_endpoint": format!("{uri}/device")});
        answer(&server, "GET", "/.well-known/openid-configuration", 200, metadata, 1).await;
        let begun = json!({"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "https://id.example/device",
            "expires_in": 60, "interval": 0});
        answer(&server, "POST", "/device", 200, begun, 1).await;
        let url = Url::parse(&uri).unwrap();
        (server, url)
    }

    #[tokio::test]
    async fn the_device_flow_waits_for_the_user() {
        let (server, issuer) = provider(None).await;
        answer(&server, "POST", "/token", 400, json!({"error": "authorization_pending"}), 2).await;
        let token =
            json!({"access_token": "t", "token_type": "Bearer", "expires_in": 60, "refresh_token": "r"});
        answer(&server, "POST", "/token", 200, token, 1).await;
        let (endpoint, granted) =
            device_flow(&http().unwrap(), &issuer, "drover-cli", "openid").await.unwrap();
        assert_eq!(endpoint.path(), "/token");
        assert_eq!(granted.token.access_token.reveal(), "t");
        assert_eq!(granted.refresh_token.unwrap().reveal(), "r");
        let polls = server.received_requests().await.unwrap();
        assert_eq!(polls.iter().filter(|request| request.url.path() == "/token").count(), 3);
    }

    #[tokio::test]
    async fn a_user_who_refuses_is_not_logged_in() {
        let (server, issuer) = provider(None).await;
        answer(&server, "POST", "/token", 400, json!({"error": "access_denied"}), 1).await;
        let failure = device_flow(&http().unwrap(), &issuer, "drover-cli", "openid").await.err().unwrap();
        assert_eq!(
            (failure.exit_code(), failure.to_string()),
            (4, "The log-in was refused: access_denied".to_owned())
        );
    }

    #[tokio::test]
    async fn metadata_of_another_issuer_is_refused() {
        let (server, issuer) = provider(Some("https://other.example")).await;
        let failure = device_flow(&http().unwrap(), &issuer, "drover-cli", "openid").await.err().unwrap();
        assert!(failure.to_string().contains("another issuer"), "{failure}");
        assert_eq!(server.received_requests().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_refused_secret_is_in_no_error() {
        let server = MockServer::start().await;
        Mock::given(body_string_contains("client_credentials"))
            .respond_with(ResponseTemplate::new(401).set_body_json(json!({"error": "invalid_client"})))
            .mount(&server)
            .await;
        let endpoint = Url::parse(&server.uri()).unwrap();
        let proof = Proof::ClientSecret(Secret::new("s3cret"));
        let mut renewal = Renewal { endpoint, client_id: "a:b".to_owned(), proof };
        let failure = renew(&http().unwrap(), &mut renewal).await.err().unwrap();
        assert_eq!(failure.exit_code(), 4);
        assert!(!format!("{failure} {failure:?}").contains("s3cret"));
        let request = &server.received_requests().await.unwrap()[0];
        // `a%3Ab:s3cret`: RFC 6749 encodes both parts, so a colon in the id is no separator.
        assert_eq!(request.headers["authorization"], "Basic YSUzQWI6czNjcmV0");
    }
}
