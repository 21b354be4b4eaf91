//! The webhooks of organisations, and the events of listings.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, User, WebhookReceiver, wait_until};
use wiremock::{Request, ResponseTemplate};

use crate::lifecycle::{draft, patch, read_as_sent};
use crate::sample::{create, full};

/// Returns settings that allow receivers on this machine, with retries without backoff.
fn settings() -> Settings {
    Settings {
        system_url: "http://127.0.0.1:1".into(),
        webhook_allow_private: true,
        webhook_retry_seconds: 0,
        ..Settings::default()
    }
}

/// Starts a receiver that acknowledges all requests.
async fn receiver() -> WebhookReceiver {
    WebhookReceiver::start(ResponseTemplate::new(200)).await
}

async fn register(app: &App, organisation: &str, url: &str, events: &[&str]) -> Value {
    let form = json!({"url": url, "events": events});
    app.post("/v1/webhooks").by(&User::of(organisation)).json(&form).send().await.ok()
}

async fn close(app: &App, id: &str, status: &str) {
    let form = json!({"status": status});
    app.post(&format!("/v1/listings/{id}/close")).by(&User::of("farm")).json(&form).send().await.ok();
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

const ALL: [&str; 4] = ["listing.published", "listing.updated", "listing.closed", "listing.matched"];

testkit::on_both! {
    async fn each_change_of_a_listing_is_one_event(backend) {
        let app = App::start::<Livestock>(backend, settings()).await;
        let (own, other, farm) = (receiver().await, receiver().await, User::of("farm"));
        let webhook = register(&app, "farm", &own.url(), &ALL).await;
        register(&app, "other", &other.url(), &ALL).await;
        let draft = draft(&app, &farm).await;
        // Editing a draft sends nothing.
        patch(&app, &farm, &draft, &json!({"description": "draft"})).await.ok();
        let publish = format!("/v1/listings/{draft}/publish");
        let mut expected = Vec::new();
        for _ in 0..2 {
            app.post(&publish).by(&farm).send().await.ok();
        }
        let data = async |id: &str, changes: Option<Value>| {
            let mut data = json!({
                "userId": farm.claims["sub"], "organisationId": "farm", "listing": read_as_sent(&app, &farm, id).await,
            });
            data.as_object_mut().unwrap().extend(changes.map(|changes| ("changes".to_owned(), changes)));
            data
        };
        expected.push(("listing.published", data(&draft, None).await));
        let direct = create(&app, &farm, &full()).await;
        expected.push(("listing.published", data(&direct, None).await));
        let members = json!({"description": "edited"});
        for _ in 0..2 {
            patch(&app, &farm, &direct, &members).await.ok();
        }
        let changes = json!({"description": {"from": full()["description"], "to": "edited"}});
        expected.push(("listing.updated", data(&direct, Some(changes)).await));
        for _ in 0..2 {
            close(&app, &direct, "sold").await;
        }
        expected.push(("listing.closed", data(&direct, None).await));
        let mut messages: Vec<_> = own.wait_for(4).await.iter().map(body).collect();
        messages.sort_by_key(|message| message["id"].to_string());
        assert_eq!(messages.len(), 4);
        for (message, (event, data)) in messages.iter().zip(&expected) {
            assert_eq!(message, &json!({
                "id": message["id"], "type": event, "timestamp": message["timestamp"], "data": data,
            }));
        }
        let path = format!("/v1/webhooks/{}/deliveries", webhook["id"].as_str().unwrap());
        wait_until(async || {
            let all = app.get(&path).by(&farm).send().await.ok();
            assert!(all.as_array().unwrap().iter().all(|delivery| delivery["listingId"].is_string()), "{all}");
            all.as_array().unwrap().len() == 4 && all.as_array().unwrap().iter().all(|d| d["status"] == "delivered")
        }).await;
        let requests = own.requests().await;
        assert_eq!(requests.len(), 4);
        let secret = webhook["secret"].as_str().unwrap();
        assert!(requests.iter().all(|request| {
            request.headers["webhook-signature"].to_str().unwrap() == testkit::webhook_signature(request, secret)
        }));
        assert!(other.requests().await.is_empty());
    }

    async fn a_test_sends_a_sample_of_each_event(backend) {
        let app = App::start::<Livestock>(backend, settings()).await;
        let (receiver, farm) = (receiver().await, User::of("farm"));
        let webhook = register(&app, "farm", &receiver.url(), &["listing.closed"]).await;
        for name in ALL {
            let test = format!("/v1/webhooks/{}/test", webhook["id"].as_str().unwrap());
            app.post(&test).by(&farm).json(&json!({"event": name})).send().await.ok();
        }
        let mut sent: Vec<_> = receiver.wait_for(ALL.len()).await.iter().map(body).collect();
        sent.sort_by_key(|message| message["id"].to_string());
        for (message, name) in sent.iter().zip(ALL) {
            assert_eq!((&message["type"], &message["data"]["test"]), (&json!(name), &json!(true)));
            assert_eq!(message["data"]["listing"]["properties"]["breed"], "Hereford");
        }
        assert_eq!(sent[3]["data"]["matches"][0]["userId"], sent[3]["data"]["userId"]);
    }

    async fn a_webhook_is_managed(backend) {
        let app = App::start::<Livestock>(backend, Settings::default()).await;
        let farm = User::of("farm");
        let webhook = register(&app, "farm", "https://hooks.example/", &["listing.closed"]).await;
        let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
        let form = json!({"url": "https://192.168.0.1/", "events": ["load.created"]});
        let mut errors = app.post("/v1/webhooks").by(&farm).json(&form).send().await.errors();
        errors.sort();
        assert_eq!(errors, ["events[0] enum", "url format"]);
        let edit = json!({"status": "disabled", "description": "office"});
        let edited = app.call("PATCH", &path).by(&farm).json(&edit).send().await.ok();
        assert_eq!((&edited["status"], &edited["description"]), (&json!("disabled"), &json!("office")));
        assert_eq!(app.post(&format!("{path}/test")).by(&farm).send().await.error(409), "conflict");
        let rotated = app.post(&format!("{path}/rotate-secret")).by(&farm).send().await.ok();
        assert_ne!(rotated["secret"], webhook["secret"]);
        app.call("DELETE", &path).by(&farm).send().await.ok();
        assert_eq!(app.get("/v1/webhooks").by(&farm).send().await.ok(), json!([]));
    }
}
