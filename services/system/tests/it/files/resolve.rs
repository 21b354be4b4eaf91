//! Resolving and sharing files.

use serde_json::{Value, json};
use testkit::User;

use super::{PNG, on_all, start};

const UNKNOWN: &str = "0198c0de-0000-7000-8000-000000000000";

fn ids(files: &Value) -> Vec<&str> {
    files.as_array().unwrap().iter().map(|file| file["id"].as_str().unwrap()).collect()
}

on_all! {
    async fn returns_each_file_once_in_request_order(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let (a, b) = (files.make(&user, "misc", b"a").await, files.make(&user, "image", PNG).await);
        let archived = files.make(&user, "misc", b"c").await;
        files.archive(&user, &archived).await.ok();
        let foreign = files.make(&User::of("mart"), "misc", b"d").await;
        let request = json!({"ids": [b, UNKNOWN, "7", a, b.to_uppercase(), archived, foreign, UNKNOWN, ""]});
        let reply = files.resolve(&user, request).await;
        assert_eq!(reply.header("x-missing-ids"), format!("{UNKNOWN},{archived},{foreign}"));
        let resolved = reply.ok();
        assert_eq!(ids(&resolved), [b.as_str(), a.as_str()]);
        let mut info = files.info(&user, &a).await.ok();
        info["id"] = json!(a);
        assert_eq!(resolved[1], info);
        let reply = files.resolve(&user, json!({"ids": [a], "shareWith": null})).await;
        assert!(reply.headers.get("x-missing-ids").is_none());
        assert_eq!(ids(&reply.ok()), [a.as_str()]);
        let nothing = files.resolve(&user, json!({"ids": ["7"]})).await;
        assert_eq!(nothing.ok(), json!([]));
    }

    async fn sharing_grants_read_access(storage) {
        let files = start(storage).await;
        let (farm, haulier) = (User::of("farm"), User::of("haulier"));
        let (a, b) = (files.make(&farm, "weighbridge", b"a").await, files.make(&farm, "misc", b"b").await);
        let missing = files.resolve(&haulier, json!({"ids": [a, b]})).await;
        assert_eq!(missing.header("x-missing-ids"), format!("{a},{b}"));
        let share = json!({"ids": [a, b], "shareWith": ["haulier", " farm ", "haulier"]});
        let shared = files.resolve(&farm, share.clone()).await.ok();
        assert_eq!(shared[0]["organisations"], json!(["haulier", "farm"]));
        assert_eq!(files.resolve(&farm, share).await.ok(), shared);
        assert_eq!(files.get(&haulier, &a).await.bytes, b"a");
        // A reader sees only its own entry.
        let seen = files.resolve(&haulier, json!({"ids": [a, b]})).await.ok();
        assert_eq!(ids(&seen), ids(&shared));
        assert_eq!(seen[0]["organisations"], json!(["haulier"]));
        assert_eq!(files.info(&farm, &b).await.ok()["organisations"], json!(["haulier", "farm"]));
        assert_eq!(files.get(&User::of("stranger"), &a).await.error(403), "forbidden");
        // Files with different lists keep different lists.
        let more = files.resolve(&farm, json!({"ids": [b], "shareWith": ["mart"]})).await.ok();
        assert_eq!(more[0]["organisations"], json!(["haulier", "farm", "mart"]));
        let both = files.resolve(&farm, json!({"ids": [a, b], "shareWith": ["*"]})).await.ok();
        assert_eq!(both[0]["organisations"], json!(["haulier", "farm", "*"]));
        assert_eq!(both[1]["organisations"], json!(["haulier", "farm", "mart", "*"]));
        assert_eq!(files.get(&User::of("stranger"), &a).await.bytes, b"a");
    }

    async fn shares_only_own_files(storage) {
        let files = start(storage).await;
        let (farm, mart) = (User::of("farm"), User::of("mart"));
        let own = files.make(&mart, "misc", b"own").await;
        let open = files.make(&farm, "image", PNG).await;
        let foreign = files.make(&farm, "misc", b"foreign").await;
        let body = json!({"ids": [open, foreign, own], "shareWith": "*"});
        let reply = files.resolve(&mart, body).await;
        assert_eq!(reply.header("x-missing-ids"), foreign);
        let resolved = reply.ok();
        assert_eq!(ids(&resolved), [open.as_str(), own.as_str()]);
        assert_eq!(resolved[0]["organisations"], json!([]));
        assert_eq!(resolved[1]["organisations"], json!(["*"]));
        assert_eq!(files.info(&farm, &foreign).await.ok()["organisations"], json!([]));
        let admin = files.resolve(&User::admin(), json!({"ids": [foreign], "shareWith": ["mart"]})).await;
        assert_eq!(admin.ok()[0]["organisations"], json!(["mart"]));
    }

    async fn all_or_nothing_shares_nothing_if_a_file_is_missing(storage) {
        let files = start(storage).await;
        let (farm, mart) = (User::of("farm"), User::of("mart"));
        let own = files.make(&mart, "misc", b"own").await;
        let foreign = files.make(&farm, "misc", b"foreign").await;
        let shared = async || files.info(&mart, &own).await.ok()["organisations"].clone();
        for missing in [UNKNOWN, "nonsense", &foreign] {
            let request = json!({"ids": [own, missing], "shareWith": ["haulier"], "allOrNothing": true});
            assert_eq!(ids(&files.resolve(&mart, request).await.ok()), [own.as_str()]);
            assert_eq!(shared().await, json!([]), "{missing}");
        }
        let request = json!({"ids": [own, own.to_uppercase()], "shareWith": ["haulier"], "allOrNothing": true});
        files.resolve(&mart, request).await.ok();
        assert_eq!(shared().await, json!(["haulier"]));
    }

    async fn concurrent_shares_are_all_stored(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let id = files.make(&farm, "misc", b"x").await;
        let share = async |with: &str| files.resolve(&farm, json!({"ids": [id], "shareWith": [with]})).await.status;
        let statuses = tokio::join!(share("a"), share("b"), share("c"), share("d"));
        assert_eq!(statuses, (200, 200, 200, 200));
        let info = files.info(&farm, &id).await.ok();
        let mut organisations: Vec<_> = info["organisations"].as_array().unwrap().iter().map(Value::to_string).collect();
        organisations.sort();
        assert_eq!(organisations, ["\"a\"", "\"b\"", "\"c\"", "\"d\""]);
    }

    async fn rejects_invalid_requests(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let long = "x".repeat(201);
        for (body, errors) in [
            (json!({}), &["ids required"][..]),
            (json!({"ids": []}), &["ids length"]),
            (json!({"ids": vec![UNKNOWN; 51]}), &["ids length"]),
            (json!({"ids": UNKNOWN, "shareWith": 5}), &["ids type", "shareWith type"]),
            (json!({"ids": [1, UNKNOWN]}), &["ids[0] type"]),
            (json!({"ids": [UNKNOWN], "shareWith": [long]}), &["shareWith[0] length"]),
            (json!({"ids": [UNKNOWN], "shareWith": vec!["a"; 51]}), &["shareWith length"]),
            (json!({"ids": [UNKNOWN], "shareWith": "farm"}), &["shareWith enum"]),
            (json!({"ids": [UNKNOWN], "shareWith": ["a", " "]}), &["shareWith[1] length"]),
        ] {
            assert_eq!(files.resolve(&user, body.clone()).await.errors(), errors, "{body}");
        }
        let reply = files.app.post("/v1/files/resolve").by(&user).body("application/json", "{").send().await;
        assert_eq!(reply.error(400), "malformed_body");
    }
}
