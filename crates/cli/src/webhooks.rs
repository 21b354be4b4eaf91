//! Events as a webhook sends them (docs/api/webhooks.md), to a receiver on this machine.

use std::path::Path;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use reqwest::Url;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::args::FeedArgs;
use crate::client::{Client, Request, segment};
use crate::error::{Failure, plain};
use crate::feed::Feed;
use crate::http::chain;
use crate::output::{self, Output};
use crate::profile::{Secret, Service};

const PREFIX: &str = "whsec_";
const MAX_ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The default of `service.webhook_timeout_ms`.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a request to a receiver, in the order in which the services write it.
#[derive(Serialize)]
struct Message<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    name: &'a str,
    timestamp: &'a str,
    data: Data,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    #[serde(skip_serializing_if = "Value::is_null")]
    user_id: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    organisation_id: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    changes: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    driver_id: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    carrier_id: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    text: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    saved_search_id: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    name: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    matches: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    load: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    listing: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    enquiry: Value,
}

/// The key that signs messages.
struct SigningKey(hmac::Key);

impl SigningKey {
    /// Parses a secret of the Standard Webhooks scheme: `whsec_` and the base64 of 24 to 64 bytes.
    fn parse(secret: &Secret) -> Result<Self, Failure> {
        let bytes = secret.reveal().strip_prefix(PREFIX).and_then(|encoded| STANDARD.decode(encoded).ok());
        let bytes = bytes.filter(|bytes| (24..=64).contains(&bytes.len()));
        let key = bytes.map(|bytes| Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)));
        key.ok_or_else(|| {
            Failure::Usage(format!("The secret must be {PREFIX} and the base64 of 24 to 64 bytes."))
        })
    }

    /// Returns the header `webhook-signature`. `timestamp` is in seconds since 1970.
    fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let tag = hmac::sign(&self.0, format!("{id}.{timestamp}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(tag))
    }
}

/// Returns a new secret and prints it: the receiver needs it too.
fn new_secret() -> Result<Secret, Failure> {
    let mut bytes = [0; 32];
    let filled = aws_lc_rs::rand::fill(&mut bytes);
    filled.map_err(|_| Failure::Local("The operating system has no random bytes.".to_owned()))?;
    let secret = format!("{PREFIX}{}", STANDARD.encode(bytes));
    output::note(&format!("The events are signed with this secret, for this run only: {secret}"));
    Ok(Secret::new(&secret))
}

/// Follows a feed and sends its events to a receiver.
pub async fn listen(
    client: &Client,
    output: Output,
    args: &FeedArgs,
    forward: &Url,
    secret_file: Option<&Path>,
) -> Result<(), Failure> {
    if !matches!(forward.scheme(), "http" | "https") {
        return Err(Failure::Usage("--forward needs a URL that begins with http:// or https://.".to_owned()));
    }
    let secret = match (secret_file, std::env::var("DROVER_WEBHOOK_SECRET")) {
        (Some(path), _) => Secret::read(path, "--secret-file")?,
        (None, Ok(secret)) if !secret.trim().is_empty() => Secret::new(&secret),
        (None, _) => new_secret()?,
    };
    let key = SigningKey::parse(&secret)?;
    let webhook = Uuid::new_v4().to_string();
    let mut feed = Feed::open(client, args, true)?;
    output::note(&format!("Sending events of {} to {forward}.", args.service.name()));
    while let Some(events) = feed.next().await? {
        for event in events {
            let body = body(client, args.service, event.clone()).await?;
            let id = plain(&event["id"]);
            let mut pause = FIRST_PAUSE;
            for attempt in 1..=MAX_ATTEMPTS {
                let began = Instant::now();
                let answer = post(client, forward, &key, &webhook, &id, &body).await;
                let outcome = match &answer {
                    Ok(status) => status.to_string(),
                    Err(error) => error.clone(),
                };
                report(output, &event, attempt, &outcome, began.elapsed())?;
                if answer.is_ok_and(|status| (200..300).contains(&status)) {
                    break;
                }
                if attempt == MAX_ATTEMPTS {
                    // The cursor is not stored, so the next start sends the event again.
                    let message =
                        format!("The receiver did not accept event {id} in {MAX_ATTEMPTS} attempts.");
                    return Err(Failure::Local(message));
                }
                tokio::time::sleep(pause).await;
                pause *= 3;
            }
        }
        output::flush()?;
        feed.store()?;
    }
    Ok(())
}

fn report(output: Output, event: &Value, attempt: u32, outcome: &str, took: Duration) -> Result<(), Failure> {
    let (name, millis) = (plain(&event["type"]), u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    if output.json {
        return output::json(
            &json!({"id": event["id"], "type": name, "attempt": attempt, "answer": outcome, "durationMs": millis}),
        );
    }
    let about =
        [&event["reference"], &event["loadId"], &event["listingId"]].into_iter().find(|v| !v.is_null());
    let about = output::clean(&about.map(plain).unwrap_or_default());
    output::line(&format!("{name} {about}: attempt {attempt}: {outcome} ({millis} ms)"))
}

/// Sends one message. Returns the status of the answer, or why there is none.
async fn post(
    client: &Client,
    forward: &Url,
    key: &SigningKey,
    webhook: &str,
    id: &str,
    body: &str,
) -> Result<u16, String> {
    let timestamp = Utc::now().timestamp();
    let request = client
        .http
        .post(forward.clone())
        .timeout(TIMEOUT)
        .header("Content-Type", "application/json")
        .header("User-Agent", concat!("drover/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp.to_string())
        .header("webhook-signature", key.sign(id, timestamp, body))
        .header("drover-webhook-id", webhook)
        .body(body.to_owned());
    match request.send().await {
        Ok(response) => Ok(response.status().as_u16()),
        Err(error) if error.is_timeout() => Err("timeout".to_owned()),
        Err(error) => Err(chain(&error)),
    }
}

/// Returns the body that a webhook has for an event. What the feed lacks is read from the service.
async fn body(client: &Client, service: Service, mut event: Value) -> Result<String, Failure> {
    let mut take = |member: &str| event[member].take();
    let (id, name, timestamp) = (plain(&take("id")), plain(&take("type")), plain(&take("atUTC")));
    let (load_id, listing_id, reference) = (take("loadId"), take("listingId"), take("reference"));
    let mut data = Data {
        user_id: take("userId"),
        organisation_id: take("organisationId"),
        changes: take("changes"),
        driver_id: take("driverId"),
        carrier_id: take("carrierId"),
        text: take("text"),
        saved_search_id: take("savedSearchId"),
        load: take("load"),
        listing: take("listing"),
        enquiry: take("enquiry"),
        ..Data::default()
    };
    // After `load.released` and the like, the caller may not read the resource any more.
    if data.load.is_null() && !load_id.is_null() {
        data.load = json!({"id": load_id, "reference": reference});
    }
    if data.listing.is_null() && !listing_id.is_null() {
        data.listing = json!({"id": listing_id});
    }
    if name == "load.released" {
        data = Data { load: json!({"id": load_id, "reference": reference}), ..Data::default() };
    }
    if name == "listing.enquiry" {
        (data.user_id, data.organisation_id) = (Value::Null, Value::Null);
    }
    if name == "listing.matched" {
        let search = format!("/v1/saved-searches/{}", segment(&plain(&data.saved_search_id))?);
        // Only the user who saved the search can read its name.
        if let Ok(mut search) = client.json(&Request::get(service, search)).await {
            data.name = search["name"].take();
        }
        let found = json!({"savedSearchId": data.saved_search_id, "name": data.name, "userId": data.user_id});
        data.matches = json!([found]);
        data.organisation_id = Value::Null;
    }
    let message = Message { id: &id, name: &name, timestamp: &timestamp, data };
    serde_json::to_string(&message).map_err(|error| Failure::Local(error.to_string()))
}

#[cfg(test)]
mod tests {
    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;
    use crate::session::Session;

    #[tokio::test]
    async fn an_event_that_the_receiver_does_not_accept_is_not_skipped() {
        let server = MockServer::start().await;
        let event = json!({"id": "e", "type": "listing.enquiry", "atUTC": "2026-12-01T00:00:00.000Z", "listingId": "l",
            "revision": 1, "userId": "u", "enquiry": {"id": "e", "message": "Still for sale?"}});
        let page = json!({"cursor": "1.2", "more": false, "events": [event]});
        let page = ResponseTemplate::new(200).set_body_json(page);
        Mock::given(path("/v1/events")).respond_with(page).mount(&server).await;
        let refusal = ResponseTemplate::new(503);
        Mock::given(path("/hook")).respond_with(refusal).expect(u64::from(MAX_ATTEMPTS)).mount(&server).await;
        let folder = tempfile::tempdir().unwrap();
        let (store, secret) = (folder.path().join("cursor"), folder.path().join("secret"));
        std::fs::write(&secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
        let args = FeedArgs {
            service: Service::Livestock,
            after: Some("1.1".to_owned()),
            from_start: false,
            store: Some(store.clone()),
            types: Vec::new(),
            parameters: Vec::new(),
            once: true,
        };
        let url = Url::parse(&server.uri()).unwrap();
        let client = Client::new(Session::fixed(&url, "t0ken")).unwrap();
        let hook = url.join("/hook").unwrap();
        let failure = listen(&client, Output { json: true }, &args, &hook, Some(&secret)).await.unwrap_err();
        assert_eq!((failure.exit_code(), store.exists()), (1, false));
        let requests = server.received_requests().await.unwrap();
        assert_eq!(requests.len(), 4, "the feed and three attempts");
        let sent: Value = serde_json::from_slice(&requests[3].body).unwrap();
        let expected = json!({"listing": {"id": "l"}, "enquiry": {"id": "e", "message": "Still for sale?"}});
        assert_eq!(sent["data"], expected);
    }

    #[test]
    fn signatures_are_those_of_other_implementations() {
        let key = SigningKey::parse(&Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
        let signature = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_malformed_secret_is_not_repeated() {
        let failure = SigningKey::parse(&Secret::new("whsec_s3cret")).err().unwrap();
        assert!(failure.exit_code() == 2 && !failure.to_string().contains("s3cret"), "{failure}");
    }
}
