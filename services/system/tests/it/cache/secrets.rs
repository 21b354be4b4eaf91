//! Keys that are withdrawn at the identity provider, and who goes by them how long.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use system::{Settings, System};
use testkit::{App, Backend, TestDatabase, User};

use super::{clear, over};

/// A key that signs nobody's token (RFC 8037, A.2).
const OTHER: &str = r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "other",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

/// A service that reads its keys from this folder.
async fn start(database: TestDatabase, folder: &Path, settings: &Settings) -> App {
    let store_url = format!("file://{}/store", folder.display());
    let settings = Settings { store_url, ..settings.clone() };
    let mut config = testkit::config::<System>(&database, settings);
    config.auth.jwks_file = Some(folder.join("jwks.json"));
    App::start_with::<System>(database, config).await
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(testkit::jwks_file(), folder.path().join("jwks.json")).unwrap();
    folder
}

async fn knows_us(app: &App) -> bool {
    app.get("/v1/settings").by(&User::admin()).send().await.status == 200
}

fn renewed() -> Value {
    let message = "0 entries were cleared; verification keys and provider credentials are read again.";
    json!({"status": "success", "message": message})
}

testkit::on_both! {
    async fn withdrawn_keys_are_good_for_nothing_at_once(backend) {
        for url in ["memory:", &testkit::redis_url()] {
            let folder = folder();
            let app = start(TestDatabase::new::<System>(backend).await, folder.path(), &over(url)).await;
            std::fs::write(folder.path().join("jwks.json"), OTHER).unwrap();
            assert!(knows_us(&app).await, "keys are not read for each request");
            clear(&app, json!({"flush": true, "keys": ["secrets"], "prefixes": ["secrets:"]})).await.ok();
            assert!(knows_us(&app).await, "nothing else has them read again");
            assert_eq!(clear(&app, json!({"secrets": true})).await.ok(), renewed());
            assert!(!knows_us(&app).await);
        }
    }

    async fn keys_that_cannot_be_read_change_nothing(backend) {
        let folder = folder();
        let app = start(TestDatabase::new::<System>(backend).await, folder.path(), &over("memory:")).await;
        std::fs::write(folder.path().join("jwks.json"), "{").unwrap();
        let failed = clear(&app, json!({"secrets": true})).await;
        assert!(failed.text().contains("The identity provider cannot be reached"), "{}", failed.text());
        assert_eq!(failed.error(503), "dependency_unavailable");
        assert!(knows_us(&app).await);
        std::fs::write(folder.path().join("jwks.json"), OTHER).unwrap();
        assert!(knows_us(&app).await, "until somebody asks again");
        assert_eq!(clear(&app, json!({"secrets": true})).await.ok(), renewed());
        assert!(!knows_us(&app).await);
    }
}

#[test]
fn other_replicas_follow_within_five_seconds() {
    testkit::block_on(async {
        let (settings, others) = (over(&testkit::redis_url()), over(&testkit::redis_url()));
        let folders = [folder(), folder(), folder()];
        let start = async |folder: &tempfile::TempDir, settings| {
            start(TestDatabase::new::<System>(Backend::Sqlite).await, folder.path(), settings).await
        };
        let (one, two) = (start(&folders[0], &settings).await, start(&folders[1], &settings).await);
        let stranger = start(&folders[2], &others).await;
        for folder in &folders {
            std::fs::write(folder.path().join("jwks.json"), OTHER).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(2500)).await;
        assert!(knows_us(&two).await, "nobody was told");
        assert_eq!(clear(&one, json!({"secrets": true})).await.ok(), renewed());
        assert!(!knows_us(&one).await);
        forgets_us(&two).await;
        assert!(knows_us(&stranger).await, "another deployment");
        // One that comes later reads them once more: it cannot know what it missed.
        std::fs::copy(testkit::jwks_file(), folders[0].path().join("jwks.json")).unwrap();
        let late = start(&folders[0], &settings).await;
        std::fs::write(folders[0].path().join("jwks.json"), OTHER).unwrap();
        forgets_us(&late).await;
    });
}

async fn forgets_us(app: &App) {
    let begun = Instant::now();
    while knows_us(app).await {
        assert!(begun.elapsed() < Duration::from_secs(5), "it still goes by the old keys");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
