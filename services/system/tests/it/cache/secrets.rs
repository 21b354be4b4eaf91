//! Reloading of verification keys that the identity provider has withdrawn.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system::{Settings, System};
use testkit::{App, Backend, TestDatabase, User};

use super::{clear, empty_cache};

/// A key set without the key of the tests' tokens (RFC 8037, A.2).
const OTHER_KEYS: &str = r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "other",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

/// Starts a service that reads its verification keys from this folder.
async fn start(database: TestDatabase, folder: &Path, settings: &Settings) -> App {
    let store_url = format!("file://{}/store", folder.display());
    let settings = Settings { store_url, ..settings.clone() };
    let mut config = testkit::config::<System>(&database, settings);
    config.auth.jwks_file = Some(folder.join("jwks.json"));
    App::start_with::<System>(database, config).await
}

/// Creates a folder with the verification keys of the tests' tokens.
fn keys_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(testkit::jwks_file(), folder.path().join("jwks.json")).unwrap();
    folder
}

/// Returns whether the service accepts a token of the tests.
async fn accepts_token(app: &App) -> bool {
    app.get("/v1/settings").by(&User::admin()).send().await.status == 200
}

/// Returns the response to a reload of the secrets.
fn reloaded() -> Value {
    let message = "0 entries were cleared; verification keys and provider credentials are reloaded.";
    json!({"status": "success", "message": message})
}

testkit::on_both! {
    async fn withdrawn_keys_are_refused_after_a_reload_also_with_redis(backend) {
        for url in ["memory:", &testkit::redis_url()] {
            let folder = keys_folder();
            let app = start(TestDatabase::new::<System>(backend).await, folder.path(), &empty_cache(url)).await;
            std::fs::write(folder.path().join("jwks.json"), OTHER_KEYS).unwrap();
            assert!(accepts_token(&app).await, "keys are not loaded for each request");
            clear(&app, json!({"flush": true, "keys": ["secrets"], "prefixes": ["secrets:"]})).await.ok();
            assert!(accepts_token(&app).await, "only `secrets` reloads them");
            assert_eq!(clear(&app, json!({"secrets": true})).await.ok(), reloaded());
            assert!(!accepts_token(&app).await);
        }
    }

    async fn unreadable_keys_of_the_provider_are_not_taken(backend) {
        let folder = keys_folder();
        let app = start(TestDatabase::new::<System>(backend).await, folder.path(), &empty_cache("memory:")).await;
        let own_key = async || app.get("/.well-known/jwks.json").send().await.ok()["keys"][0]["kid"].clone();
        let own_key_before = own_key().await;
        std::fs::write(folder.path().join("jwks.json"), "{").unwrap();
        let reply = clear(&app, json!({"secrets": true})).await;
        assert!(reply.text().contains("The identity provider cannot be reached"), "{}", reply.text());
        assert_eq!(reply.error(503), "dependency_unavailable");
        assert!(accepts_token(&app).await);
        assert_eq!(own_key().await, own_key_before, "503 changes nothing");
        std::fs::write(folder.path().join("jwks.json"), OTHER_KEYS).unwrap();
        assert!(accepts_token(&app).await, "the old keys stay until the next reload");
        assert_eq!(clear(&app, json!({"secrets": true})).await.ok(), reloaded());
        assert!(!accepts_token(&app).await);
    }
}

#[test]
fn replicas_with_redis_reload_within_five_seconds() {
    testkit::block_on(async {
        let (settings, others) = (empty_cache(&testkit::redis_url()), empty_cache(&testkit::redis_url()));
        let folders = [keys_folder(), keys_folder(), keys_folder()];
        let start = async |folder: &tempfile::TempDir, settings| {
            start(TestDatabase::new::<System>(Backend::Sqlite).await, folder.path(), settings).await
        };
        let (one, two) = (start(&folders[0], &settings).await, start(&folders[1], &settings).await);
        let other_deployment = start(&folders[2], &others).await;
        for folder in &folders {
            std::fs::write(folder.path().join("jwks.json"), OTHER_KEYS).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(2500)).await;
        assert!(accepts_token(&two).await, "no reload was requested");
        assert_eq!(clear(&one, json!({"secrets": true})).await.ok(), reloaded());
        assert!(!accepts_token(&one).await);
        wait_until_refused(&two).await;
        assert!(accepts_token(&other_deployment).await, "another deployment");
        // A replica that starts later reloads once, because it may have missed a reload.
        std::fs::copy(testkit::jwks_file(), folders[0].path().join("jwks.json")).unwrap();
        let late_replica = start(&folders[0], &settings).await;
        std::fs::write(folders[0].path().join("jwks.json"), OTHER_KEYS).unwrap();
        wait_until_refused(&late_replica).await;
    });
}

/// Waits until the service refuses the tokens of the tests, at most 5 s.
async fn wait_until_refused(app: &App) {
    let begun = Instant::now();
    while accepts_token(app).await {
        assert!(begun.elapsed() < Duration::from_secs(5), "the token is still accepted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
