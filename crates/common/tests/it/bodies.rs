//! JSON bodies: all invalid fields are reported, at the paths that the client wrote.

use serde_json::{Value, json};
use testkit::User;

use crate::echo::{start, thing};

#[test]
fn reports_every_invalid_field() {
    testkit::block_on(async {
        let app = start().await;
        let post = |body: &Value| app.post("/v1/things").by(&User::of("a")).json(body);
        let three = json!({"name": "", "price": {"amount": "5"}, "tags": ["ok", "a;b"], "note": 5});
        let reply = post(&three).send().await;
        assert_eq!(reply.json()["message"], "5 fields were refused: see validation.");
        let expected =
            ["name length", "note type", "price.amount type", "price.currency required", "tags[1] format"];
        assert_eq!(reply.errors(), expected);
        let schema_and_rule =
            json!({"name": "-", "price": {"amount": 2000, "currency": "pounds"}, "tags": []});
        let expected = ["name format", "price.amount range", "price.currency format"];
        assert_eq!(post(&schema_and_rule).send().await.errors(), expected);
        assert_eq!(
            post(&json!({})).send().await.errors(),
            ["name required", "price required", "tags required"]
        );
        for other in [json!(null), json!(5), json!("x"), json!([]), json!([[]])] {
            assert_eq!(post(&other).send().await.errors(), [" type"], "{other}");
        }
        let null = json!({"name": null, "price": null, "tags": null});
        assert_eq!(post(&null).send().await.errors(), ["name type", "price type", "tags type"]);
    });
}

#[test]
fn entries_have_a_message_and_data() {
    testkit::block_on(async {
        let app = start().await;
        let mut body = thing(&"x".repeat(201));
        body["price"]["amount"] = json!(-1);
        let reply = app.post("/v1/things").by(&User::of("a")).json(&body).send().await.json();
        let mut entries = reply["validation"].as_array().unwrap().clone();
        entries.sort_by_key(|e| e["path"].to_string());
        assert_eq!(
            entries[0],
            json!({"path": "name", "code": "length", "message": "must have at most 200 characters",
            "data": {"maximum": 200}})
        );
        assert_eq!(entries[1]["data"], json!({"minimum": 0}));
    });
}

#[test]
fn ignores_unknown_members_and_treats_blank_and_null_as_absent() {
    testkit::block_on(async {
        let app = start().await;
        let mut body = thing("  ");
        let one = |body: &Value| app.post("/v1/one").json(body);
        assert_eq!(one(&body).send().await.errors(), ["name length"]);
        body = thing("ok");
        body["unknown"] = json!({"a": [1, 2]});
        body["note"] = json!("  ");
        body["delayMs"] = json!(null);
        let accepted = one(&body).send().await.ok();
        assert_eq!(accepted["note"], json!(null));
        assert_eq!(accepted["delayMs"], json!(null));
        assert!(accepted.get("unknown").is_none());
        body["name"] = json!("tab\tnul\u{0}");
        assert_eq!(one(&body).send().await.errors(), ["name format"]);
    });
}

#[test]
fn accepts_an_array_of_one_object() {
    testkit::block_on(async {
        let app = start().await;
        let one = |body: Value| app.post("/v1/one").json(&body);
        let expected = one(thing("x")).send().await.ok();
        assert_eq!(one(json!([thing("x")])).send().await.ok(), expected);
        for count in [0, 2] {
            assert_eq!(one(json!(vec![thing("x"); count])).send().await.errors(), [" length"]);
        }
        let mut bad = thing("x");
        bad["price"]["amount"] = json!(true);
        assert_eq!(one(json!([bad])).send().await.errors(), ["price.amount type"]);
        for other in [json!([5]), json!([[thing("x")]]), json!([null])] {
            assert_eq!(one(other.clone()).send().await.errors(), [" type"], "{other}");
        }
    });
}

#[test]
fn refuses_very_many_invalid_fields_quickly() {
    testkit::block_on(async {
        let app = start().await;
        let mut body = thing("x");
        body["tags"] = json!(vec![1; 500_000]);
        let started = std::time::Instant::now();
        let reply = app.post("/v1/things").by(&User::of("a")).json(&body).send().await;
        assert_eq!(reply.json()["validation"][0]["path"], "tags");
        assert!(reply.bytes.len() < 1 << 20, "{} bytes", reply.bytes.len());
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    });
}

testkit::on_both! {
    async fn put_updates_and_reports_body_errors_before_an_unknown_path(backend) {
        let app = testkit::App::start::<crate::echo::Echo>(backend, ()).await;
        let user = User::of("a");
        let created = app.post("/v1/things").by(&user).json(&thing("x")).send().await;
        let path = created.header("location").to_owned();
        assert_eq!(created.ok()["by"], "user-of-a");
        let changed = app.call("PUT", &path).by(&user).json(&thing("y")).send().await.ok();
        assert_eq!(app.get(&path).by(&user).send().await.ok(), changed);
        assert_eq!(changed["name"], "y");
        let put = |path: &str, body: &Value| app.call("PUT", path).by(&user).json(body);
        for unknown in ["/v1/things/x", "/v1/things/%00", "/v1/things/0192f0c1-0000-7000-8000-000000000000"] {
            assert_eq!(put(unknown, &thing("x")).send().await.error(404), "not_found");
            assert_eq!(put(unknown, &thing("")).send().await.errors(), ["name length"]);
            assert_eq!(app.call("PUT", unknown).json(&thing("")).send().await.error(401), "unauthenticated");
        }
    }
}
