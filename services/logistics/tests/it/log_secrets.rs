//! Logs have one line per event and contain no secrets.

use testkit::{Process, TestDatabase};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

const WEBHOOK_SECRET: &str = "whsec_bG9ncy1tdXN0LW5ldmVyLXNob3ctdGhpcy1zZWNyZXQ=";
const HOOK_PASSWORD: &str = "hook-password-7f3c";
const KEY: &str = "idempotency-key-91d2";

/// Sends requests that try to inject log lines to a service with the log level TRACE. Returns its log and the secrets
/// used.
async fn log(backend: Backend, format: &str) -> (String, Vec<String>) {
    let (database, system, receiver) =
        (TestDatabase::new::<Logistics>(backend).await, SystemStub::start().await, MockServer::start().await);
    Mock::given(any()).respond_with(ResponseTemplate::new(204)).mount(&receiver).await;
    let hook = receiver.uri().replace("http://", &format!("http://ruth:{HOOK_PASSWORD}@"));
    let service = Process::start(
        env!("CARGO_BIN_EXE_logistics"),
        &[
            ("LOG__FORMAT", format),
            ("DATABASE__URL", &database.url),
            ("SERVICE__SYSTEM_URL", &system.url()),
            ("SERVICE__WEBHOOK_URL", &hook),
            ("SERVICE__WEBHOOK_SECRETS", WEBHOOK_SECRET),
            ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true"),
        ],
    );
    let (haul, admin) = (User::of("haul").with("orgName", "Hauliers\u{2028}INJECTED"), User::admin());
    let everything = json!({"logging": {"level": "trace", "filter": "*"}});
    service.call("PUT", "/v1/settings").by(&admin).json(&everything).send().await.ok();

    let forged = haul.clone().with("name", "a\nINJECTED").token();
    assert_eq!(service.call("GET", "/v1/loads").bearer(&forged).send().await.status, 401);
    let files = json!([{"id": system.add("\u{1b}[31mINJECTED\n.jpg", &haul)}]);
    let form = with(with(carrier_form(), "files", files), "reference", json!("INJECTED"));
    let refused = with(form.clone(), "reference", json!("INJECTED \u{202e}INJECTED"));
    assert_eq!(service.call("POST", "/v1/loads/carrier").by(&haul).json(&refused).send().await.status, 400);
    let call = service.call("POST", "/v1/loads/carrier").by(&haul).header("idempotency-key", KEY);
    let load = call.json(&form).send().await.ok();
    let refused = json!({"loadId": load["id"], "driverId": "dai \u{2028}INJECTED"});
    let call = service.call("POST", "/v1/loads/send-to-driver").by(&haul).json(&refused);
    assert_eq!(call.send().await.status, 400);
    let sent = json!({"loadId": load["id"], "driverId": "dai INJECTED"});
    service.call("POST", "/v1/loads/send-to-driver").by(&haul).json(&sent).send().await.ok();
    for path in [
        "/v1/loads?query=%0a%1b[31mINJECTED&sortBy=%0d%0aINJECTED",
        "/v1/%0a%0dINJECTED%1b[2J",
        "/%0aINJECTED",
        "/v1/loads/%0aINJECTED",
        "/v1/loads?cursor=%0aINJECTED",
    ] {
        let call = service.call("GET", path).by(&haul).header("x-request-id", "two words INJECTED");
        call.header("user-agent", "\tINJECTED").header("traceparent", "00-INJECTED").send().await;
    }
    let body = "{\"loadId\": \"\\n\\u001b[31mINJECTED\", \"driverId\": 5}";
    service.call("POST", "/v1/loads/send-to-driver").by(&haul).body("application/json", body).send().await;
    let started = std::time::Instant::now();
    while receiver.received_requests().await.unwrap().is_empty() {
        assert!(started.elapsed().as_secs() < 30, "the webhook is not called");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let signature = receiver.received_requests().await.unwrap()[0].headers["webhook-signature"].clone();
    let mut secrets =
        vec![WEBHOOK_SECRET["whsec_".len()..].to_owned(), HOOK_PASSWORD.to_owned(), KEY.to_owned()];
    secrets.push("logs-must-never-show-this-secret".into());
    secrets.push(signature.to_str().unwrap().to_owned());
    for token in [haul.token(), admin.token(), forged] {
        // The token's header is not secret.
        secrets.extend(token.split('.').skip(1).map(str::to_owned));
    }
    let password = database
        .url
        .split_once("://")
        .unwrap()
        .1
        .split_once('@')
        .and_then(|(login, _)| login.split_once(':'));
    secrets.extend(password.map(|(_, password)| password.to_owned()));
    (service.log(), secrets)
}

testkit::on_both! {
    async fn logs_contain_no_injected_lines_and_no_secrets(backend) {
        for format in ["json", "pretty"] {
            let (log, secrets) = log(backend, format).await;
            assert!(log.contains("TRACE"), "{log}");
            for secret in secrets {
                let at = log.find(&secret);
                assert_eq!(at, None, "{format}: {secret}: {}", at.map_or("", |at| log[..at].lines().last().unwrap_or("")));
            }
            assert!(!log.contains('\u{1b}'), "{format}: contains a terminal escape");
            for line in log.lines() {
                let is_complete = match format {
                    "json" => serde_json::from_str::<Value>(line).is_ok_and(|line| line["timestamp"].is_string()),
                    _ => line.starts_with("20") && line.get(10..11) == Some("T"),
                };
                assert!(is_complete, "{format}: {line}");
            }
        }
    }
}
