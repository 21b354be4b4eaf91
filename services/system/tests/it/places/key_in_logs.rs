//! The key of a provider stands in no log line, whatever is logged and however the provider fails.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{KEY, loqate};

#[test]
fn not_even_traced() {
    testkit::block_on(async {
        let stub = MockServer::start().await;
        let echo =
            ResponseTemplate::new(401).set_body_string(format!("{{\"error\":{{\"code\":\"{KEY}\"}}}}"));
        Mock::given(path("/v3/convert-to-coordinates")).respond_with(echo).mount(&stub).await;
        let refused = ResponseTemplate::new(200).set_body_string(format!(
            "{{\"Items\":[{{\"Error\":\"2\",\"Description\":\"no such key: {KEY}\"}}]}}"
        ));
        Mock::given(path(loqate::FIND)).respond_with(refused).mount(&stub).await;
        let folder = tempfile::tempdir().unwrap();
        let mut service = Command::new(env!("CARGO_BIN_EXE_system"));
        for (name, value) in [
            ("SERVER__PORT", "0".to_owned()),
            ("LOG__LEVEL", "trace".to_owned()),
            ("DATABASE__URL", format!("sqlite://{}/db", folder.path().display())),
            ("AUTH__JWKS_FILE", testkit::jwks_file().display().to_string()),
            ("AUTH__ISSUER", testkit::ISSUER.to_owned()),
            ("AUTH__AUDIENCE", testkit::AUDIENCE.to_owned()),
            ("SERVICE__STORE_URL", format!("file://{}/store", folder.path().display())),
            ("SERVICE__WORDS_PROVIDER", "what3words".to_owned()),
            ("SERVICE__WORDS_URL", stub.uri()),
            ("SERVICE__WORDS_KEY", KEY.to_owned()),
            ("SERVICE__ADDRESS_PROVIDER", "loqate".to_owned()),
            ("SERVICE__ADDRESS_URL", stub.uri()),
            ("SERVICE__ADDRESS_KEY", KEY.to_owned()),
        ] {
            service.env(format!("DROVER_{name}"), value);
        }
        let mut service = service.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut log, mut lines) = (String::new(), BufReader::new(service.stdout.take().unwrap()));
        let address = loop {
            let from = log.len();
            assert!(lines.read_line(&mut log).unwrap() > 0, "it ended: {log}");
            let line: serde_json::Value = serde_json::from_str(&log[from..]).unwrap_or_default();
            if let Some(address) = line["address"].as_str().filter(|_| line["message"] == "ready") {
                break address.to_owned();
            }
        };
        let reading = std::thread::spawn(move || {
            let _ = lines.read_to_string(&mut log);
            log
        });
        for query in ["locations/three-words?query=a.b.c", "addresses?query=x", "locations/address?id=x"] {
            let reply = reqwest::get(format!("http://{address}/v1/{query}")).await.unwrap();
            assert_eq!(reply.status(), 503);
            assert!(!reply.text().await.unwrap().contains(KEY));
        }
        service.kill().unwrap();
        let log = reading.join().unwrap();
        service.wait().unwrap();
        assert!(log.contains("error 2: ") && log.contains("(the key)"), "{log}");
        assert!(!log.contains(KEY), "{log}");
    });
}
