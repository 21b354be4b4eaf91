//! Logs contain no personal data, whether requests succeed or fail.

use reqwest::multipart::{Form, Part};
use serde_json::json;
use system::System;
use testkit::{Backend, PERSONAL_DATA, Process, TestDatabase, user_with_personal_data};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::{UNREACHABLE, store_url};

testkit::on_both! {
    async fn logs_contain_no_personal_data(backend) {
        let (database, folder) = (TestDatabase::new::<System>(backend).await, tempfile::tempdir().unwrap());
        let service = Process::start(
            env!("CARGO_BIN_EXE_system"),
            &[
                ("DATABASE__URL", &database.url),
                ("SERVICE__STORE_URL", &store_url(&folder)),
                ("SERVICE__CACHE_URL", &format!("redis://{UNREACHABLE}")),
                ("SERVICE__ADDRESS_PROVIDER", "photon"),
                ("SERVICE__ADDRESS_URL", &format!("http://{UNREACHABLE}")),
            ],
        );
        service.enable_trace_logs().await;
        let (user, text) = (user_with_personal_data(), PERSONAL_DATA);
        let call = |method: &str, path: &str| service.call(method, path).by(&user);
        let form = || {
            let part = Part::bytes(b"Ottilie's passport".to_vec()).file_name("ottilie-passport.txt");
            let form = Form::new().text("bucket", "files").text("type", "contract").text("name", text);
            form.text("tags", "Ottilie").text("organisations", "quarrington-others").part("file", part)
        };
        let file = call("POST", "/v1/files").form(form()).send().await.ok();
        let id = file["id"].as_str().unwrap();
        assert_eq!(call("GET", &format!("/v1/files/{id}")).send().await.status, 200);
        let other = user_with_personal_data().with("org", "quarrington-strangers").with("sub", "ottilie-9");
        assert_eq!(service.call("GET", &format!("/v1/files/{id}")).by(&other).send().await.status, 403);
        let share = json!({"ids": [id], "shareWith": ["quarrington-others"]});
        call("POST", "/v1/files/resolve").json(&share).send().await.ok();
        let clear = json!({"keys": [format!("address:search:{text}")]});
        let admin = user_with_personal_data().with("roles", "admin");
        service.call("POST", "/v1/cache").by(&admin).json(&clear).send().await;
        assert_eq!(call("GET", &format!("/v1/addresses?query={text}")).send().await.status, 503);
        for query in ["coordinates?lat=60.1530&lon=-1.1427", "three-words?query=ottilie.old.mill"] {
            call("GET", &format!("/v1/locations/{query}")).send().await;
        }
        service.export_and_erase(&user_with_personal_data()).await;
        let operations = [
            "POST /v1/files", "POST /v1/files/resolve", "POST /v1/cache", "GET /v1/files", "GET /v1/addresses",
            "GET /v1/locations/three-words", "GET /v1/locations/address", "GET /v1/regions", "PUT /v1/settings",
        ];
        service.send_malformed_requests(&operations).await;
        // The table and the content store disappear while the service runs.
        database.execute(match backend {
            Backend::Postgres => "DROP TABLE system.files CASCADE",
            Backend::Sqlite => "DROP TABLE files",
        });
        assert_eq!(call("POST", "/v1/files").form(form()).send().await.status, 500);
        folder.close().unwrap();
        assert!(call("POST", "/v1/files").form(form()).send().await.status >= 500);
        service.assert_no_personal_data(&[200, 400, 401, 403, 404, 413, 415, 500, 503]);
    }
}

/// Responses of providers that repeat the request.
const REPEATING_RESPONSES: [(&str, u16, &str); 5] = [
    ("photon", 200, r#"{"features": [{"geometry": {"coordinates": "Old Mill, ZE1 0AA"}}]}"#),
    ("loqate", 200, r#"{"Items": [{"Id": "1", "Type": ["Old Mill"], "Text": 1}]}"#),
    ("loqate", 200, r#"{"Items": [{"Error": "2", "Description": "Old Mill is nowhere"}]}"#),
    ("loqate", 200, r#"{"Items": [{"Error": "no Old Mill"}]}"#),
    (
        "loqate",
        500,
        r#"{"error": {"code": "ottilie.old.mill"}, "words": "Old Mill", "coordinates": "Old Mill"}"#,
    ),
];

#[test]
fn responses_of_providers_are_not_logged() {
    testkit::block_on(async {
        for (provider, status, body) in REPEATING_RESPONSES {
            let stub = MockServer::start().await;
            let response = ResponseTemplate::new(status).set_body_string(body);
            Mock::given(any()).respond_with(response).mount(&stub).await;
            let (folder, uri) = (tempfile::tempdir().unwrap(), stub.uri());
            let service = Process::start(
                env!("CARGO_BIN_EXE_system"),
                &[
                    ("DATABASE__URL", &format!("sqlite://{}/db", folder.path().display())),
                    ("SERVICE__STORE_URL", &store_url(&folder)),
                    ("SERVICE__ADDRESS_PROVIDER", provider),
                    ("SERVICE__ADDRESS_URL", &uri),
                    ("SERVICE__ADDRESS_KEY", "key"),
                    ("SERVICE__WORDS_PROVIDER", "what3words"),
                    ("SERVICE__WORDS_URL", &uri),
                    ("SERVICE__WORDS_KEY", "key"),
                ],
            );
            service.enable_trace_logs().await;
            for path in ["addresses?query=old%20mill", "locations/three-words?query=ottilie.old.mill"] {
                assert_eq!(
                    service.call("GET", &format!("/v1/{path}")).send().await.status,
                    503,
                    "{provider}"
                );
            }
            service.assert_no_personal_data(&[503]);
        }
    });
}
