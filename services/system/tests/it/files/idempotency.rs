//! Uploads and shares that are sent again.

use serde_json::json;
use testkit::{TestResponse, User};

use super::{Files, PNG, encode, on_all, start};

async fn send(files: &Files, user: &User, key: &str, boundary: &str, content: &[u8]) -> TestResponse {
    let body = encode(
        boundary,
        &[
            ("name=\"bucket\"", b"files"),
            ("name=\"type\"", b"misc"),
            ("name=\"name\"", b"a name"),
            ("name=\"file\"; filename=\"a\"", content),
        ],
    );
    let call = files.app.post("/v1/files").by(user).header("idempotency-key", key);
    call.body(&format!("multipart/form-data; boundary={boundary}"), body).send().await
}

on_all! {
    async fn an_upload_is_replayed(place) {
        let files = start(place).await;
        let user = User::of("farm");
        let first = send(&files, &user, "key", "x", PNG).await;
        assert_eq!(first.header("idempotency-replayed"), "");
        let first = first.ok();
        // The boundary is no part of what was asked for.
        let again = send(&files, &user, "key", "another", PNG).await;
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!(again.ok(), first);
        let other = send(&files, &user, "key", "x", b"other").await;
        assert_eq!(other.error(409), "idempotency_key_reused");
        assert_eq!(files.stored().await.len(), 1);
        // Another key, another caller: other files.
        assert_ne!(send(&files, &user, "key 2", "x", PNG).await.ok()["id"], first["id"]);
        assert_ne!(send(&files, &User::of("mart"), "key", "x", PNG).await.ok()["id"], first["id"]);
    }

    async fn a_refused_upload_leaves_the_key_free(place) {
        let files = start(place).await;
        let user = User::of("farm");
        assert_eq!(send(&files, &user, "key", "x", b"").await.errors(), ["file length"]);
        let stored = send(&files, &user, "key", "x", PNG).await;
        assert_eq!(stored.header("idempotency-replayed"), "");
        assert_eq!(stored.status, 200);
    }

    async fn two_at_once_make_one_file(place) {
        let files = start(place).await;
        let user = User::of("farm");
        let send = || send(&files, &user, "key", "x", PNG);
        let (a, b) = tokio::join!(send(), send());
        assert_eq!(a.ok()["id"], b.ok()["id"]);
    }

    async fn resolving_is_never_replayed(place) {
        let files = start(place).await;
        let user = User::of("farm");
        let (id, other) = (files.make(&user, "misc", b"x").await, files.make(&user, "misc", b"y").await);
        let share = async |key: &str, with: &'static str| {
            let call = files.app.post("/v1/files/resolve").by(&user).header("idempotency-key", key);
            call.json(&json!({"ids": [id, other], "shareWith": [with]})).send().await
        };
        assert_eq!(share("key", "haulier").await.ok()[1]["organisations"], json!(["haulier"]));
        // The key is ignored, whatever it is: another request under it, and one that no other operation takes.
        assert_eq!(share("key", "mart").await.ok()[1]["organisations"], json!(["haulier", "mart"]));
        assert_eq!(share(&"k".repeat(300), "mart").await.status, 200);
        files.archive(&user, &id).await.ok();
        let again = share("key", "haulier").await;
        assert_eq!(again.header("idempotency-replayed"), "");
        assert_eq!(again.header("x-missing-ids"), id);
        let found = again.ok();
        assert_eq!(found.as_array().unwrap().len(), 1);
        assert_eq!(found[0]["organisations"], json!(["haulier", "mart"]));
    }
}
