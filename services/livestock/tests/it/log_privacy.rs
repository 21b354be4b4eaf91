//! Logs contain no personal data, whether requests succeed or fail.

use livestock::Livestock;
use serde_json::{Value, json};
use testkit::{Backend, PERSONAL_DATA, Process, TestDatabase, user_with_personal_data};

use crate::sample::{CATTLE, full};

testkit::on_both! {
    async fn logs_contain_no_personal_data(backend) {
        let database = TestDatabase::new::<Livestock>(backend).await;
        let service = Process::start(
            env!("CARGO_BIN_EXE_livestock"),
            &[("DATABASE__URL", &database.url), ("SERVICE__SYSTEM_URL", "http://127.0.0.1:1")],
        );
        service.enable_trace_logs().await;
        let (user, text) = (user_with_personal_data(), PERSONAL_DATA);
        let mut form = full();
        form["description"] = json!(text);
        form["tags"] = json!(["Ottilie"]);
        form["location"]["address"]["name"] = json!(text);
        form["location"]["address"]["postcode"] = json!("ZE1 0AA");
        form["properties"]["title"] = json!(text);
        form["properties"]["societyNumber"] = json!("QX19");
        let call = |method: &str, path: &str| service.call(method, path).by(&user);
        let made = call("POST", CATTLE).json(&form).send().await.ok();
        let id = made["id"].as_str().unwrap();
        form["files"] = json!([{"id": "0190f5fe-0000-7000-8000-000000000000", "name": "ottilie-passport.jpg"}]);
        assert_eq!(call("POST", CATTLE).json(&form).send().await.status, 503);
        let report = json!({"reason": "suspicious", "message": text});
        let reporter = user_with_personal_data().with("org", "quarrington-others").with("sub", "ottilie-8");
        let path = format!("/v1/listings/{id}/report");
        service.call("POST", &path).by(&reporter).json(&report).send().await.ok();
        assert_eq!(call("POST", &path).json(&report).send().await.status, 409);
        call("GET", &format!("/v1/listings/{id}")).send().await.ok();
        assert_eq!(call("GET", "/v1/listings?format=CSV").send().await.status, 200);
        call("POST", &format!("/v1/listings/{id}/close")).json(&json!({"status": "sold"})).send().await.ok();
        service.export_and_erase(&user).await;
        let operations = ["POST /v1/listings/cattle", "POST /v1/listings/feed", "GET /v1/listings", "PUT /v1/settings"];
        service.send_malformed_requests(&operations).await;
        database.execute(match backend {
            Backend::Postgres => "DROP TABLE livestock.listings CASCADE",
            Backend::Sqlite => "PRAGMA foreign_keys = OFF; DROP TABLE listings",
        });
        form["files"] = Value::Null;
        assert_eq!(call("POST", CATTLE).json(&form).send().await.status, 500);
        service.send_malformed_requests(&operations[2..]).await;
        service.assert_no_personal_data(&[200, 400, 401, 403, 404, 409, 413, 415, 500, 503]);
    }
}
