//! Repeated uploads and resolve calls.

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
    async fn replays_uploads(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let first = send(&files, &user, "key", "x", PNG).await;
        assert_eq!(first.header("idempotency-replayed"), "");
        let first = first.ok();
        // The boundary is not part of the fingerprint.
        let repeat = send(&files, &user, "key", "another", PNG).await;
        assert_eq!(repeat.header("idempotency-replayed"), "true");
        assert_eq!(repeat.ok(), first);
        let other = send(&files, &user, "key", "x", b"other").await;
        assert_eq!(other.error(409), "idempotency_key_reused");
        assert_eq!(files.stored().await.len(), 1);
        // Another key or another caller creates another file.
        assert_ne!(send(&files, &user, "key 2", "x", PNG).await.ok()["id"], first["id"]);
        assert_ne!(send(&files, &User::of("mart"), "key", "x", PNG).await.ok()["id"], first["id"]);
    }

    async fn failed_upload_releases_the_key(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        assert_eq!(send(&files, &user, "key", "x", b"").await.errors(), ["file length"]);
        let stored = send(&files, &user, "key", "x", PNG).await;
        assert_eq!(stored.header("idempotency-replayed"), "");
        assert_eq!(stored.status, 200);
    }

    async fn concurrent_repeats_create_one_file(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let send = || send(&files, &user, "key", "x", PNG);
        let (a, b) = tokio::join!(send(), send());
        assert_eq!(a.ok()["id"], b.ok()["id"]);
    }

    async fn resolve_ignores_the_key(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let (id, other) = (files.make(&user, "misc", b"x").await, files.make(&user, "misc", b"y").await);
        let share = async |key: &str, with: &'static str| {
            let call = files.app.post("/v1/files/resolve").by(&user).header("idempotency-key", key);
            call.json(&json!({"ids": [id, other], "shareWith": [with]})).send().await
        };
        assert_eq!(share("key", "haulier").await.ok()[1]["organisations"], json!(["haulier"]));
        // Ignores the key even if another request had it, and if it is invalid.
        assert_eq!(share("key", "mart").await.ok()[1]["organisations"], json!(["haulier", "mart"]));
        assert_eq!(share(&"k".repeat(300), "mart").await.status, 200);
        files.archive(&user, &id).await.ok();
        let repeat = share("key", "haulier").await;
        assert_eq!(repeat.header("idempotency-replayed"), "");
        assert_eq!(repeat.header("x-missing-ids"), id);
        let resolved = repeat.ok();
        assert_eq!(resolved.as_array().unwrap().len(), 1);
        assert_eq!(resolved[0]["organisations"], json!(["haulier", "mart"]));
    }
}
