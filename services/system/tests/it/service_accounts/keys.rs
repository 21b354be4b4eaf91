//! The keys of tokens: made once, shared by replicas, replaced by `secrets` of `POST /v1/cache`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use system::{Settings, System};
use testkit::{App, Backend, TestDatabase, User};

use super::{Started, create, decoded, named, start, status, token};
use crate::with_temp_store;

async fn replace_keys(app: &App) {
    app.post("/v1/cache").by(&User::admin()).json(&json!({"secrets": true})).send().await.ok();
}

async fn key_ids(app: &App) -> Vec<Value> {
    let keys = app.get("/.well-known/jwks.json").send().await.ok();
    keys["keys"].as_array().unwrap().iter().map(|key| key["kid"].clone()).collect()
}

const PUBLIC_URL: &str = "https://api.drover.example/system";

/// Starts a replica on a database, behind a proxy.
async fn replica(database: TestDatabase) -> (App, tempfile::TempDir) {
    let (settings, folder) = with_temp_store(Settings::default());
    let mut config = testkit::config::<System>(&database, settings);
    config.server.public_url = Some(PUBLIC_URL.parse().unwrap());
    (App::start_with::<System>(database, config).await, folder)
}

testkit::on_both! {
    async fn replaced_keys_verify_for_a_day(backend) {
        let Started { app, .. } = &start(backend).await;
        let account = create(app, &User::of("farm"), named("a")).await;
        let old = token(app, &account).await;
        replace_keys(app).await;
        let new = token(app, &account).await;
        assert_ne!(decoded(&old, 0)["kid"], decoded(&new, 0)["kid"]);
        assert_eq!(key_ids(app).await, [decoded(&new, 0)["kid"].clone(), decoded(&old, 0)["kid"].clone()]);
        for token in [&old, &new] {
            assert_eq!(status(app, token).await, 200);
        }
        let (table, day) = match backend {
            Backend::Sqlite => ("link_keys", "replaced_at - 86400000"),
            Backend::Postgres => ("system.link_keys", "replaced_at - interval '24 hours'"),
        };
        app.database.execute(&format!("UPDATE {table} SET replaced_at = {day}"));
        assert_eq!(key_ids(app).await, [decoded(&new, 0)["kid"].clone()]);
        app.post("/v1/cache").by(&User::admin()).json(&json!({"secrets": true})).send().await.ok();
        assert_eq!(status(app, &old).await, 401);
        assert_eq!(status(app, &new).await, 200);
    }

    async fn tokens_of_new_keys_are_valid_at_once(backend) {
        let Started { app, .. } = &start(backend).await;
        let account = create(app, &User::of("farm"), named("a")).await;
        let done = Arc::new(AtomicBool::default());
        let call = async || {
            let mut calls = 0;
            while !done.load(Ordering::Relaxed) {
                let token = token(app, &account).await;
                assert_eq!(status(app, &token).await, 200, "after {calls} calls");
                calls += 1;
            }
            calls
        };
        let rotate = async || {
            for _ in 0..4 {
                tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                replace_keys(app).await;
            }
            done.store(true, Ordering::Relaxed);
        };
        let (one, two, ()) = tokio::join!(call(), call(), rotate());
        assert!(one + two > 4);
        assert_eq!(key_ids(app).await.len(), 5);
    }

    async fn the_issuer_is_the_public_url(backend) {
        let database = TestDatabase::new::<System>(backend).await;
        let (app, _folder) = replica(database).await;
        let account = create(&app, &User::of("farm"), named("a")).await;
        let token = token(&app, &account).await;
        assert_eq!(decoded(&token, 1)["iss"], PUBLIC_URL);
        let metadata = app.get("/.well-known/oauth-authorization-server").send().await.ok();
        assert_eq!(metadata["issuer"], PUBLIC_URL);
        assert_eq!(metadata["token_endpoint"], format!("{PUBLIC_URL}/v1/token"));
        assert_eq!(status(&app, &token).await, 200);
    }
}

#[test]
fn an_issuer_of_its_own_is_required() {
    testkit::block_on(async {
        let database = TestDatabase::new::<System>(Backend::Sqlite).await;
        let (settings, _folder) = with_temp_store(Settings::default());
        let mut config = testkit::config::<System>(&database, settings);
        config.server.public_url = Some("https://login.drover.example".parse().unwrap());
        config.auth.issuer = Some("https://login.drover.example".into());
        let error = format!("{:#}", common::start::<System>(config.clone()).await.err().unwrap());
        assert!(error.contains("server.public_url (DROVER_SERVER__PUBLIC_URL)"), "{error}");
        config.auth.service_accounts = Some(false);
        common::start::<System>(config).await.unwrap().stop().await;
    });
}

#[test]
fn replicas_on_postgres_share_keys() {
    testkit::block_on(async {
        let database = TestDatabase::new::<System>(Backend::Postgres).await;
        let other = TestDatabase::at(database.url.clone());
        // Both make the first key at the same time.
        let ((one, _one), (two, _two)) = tokio::join!(replica(database), replica(other));
        assert_eq!(key_ids(&one).await, key_ids(&two).await);
        assert_eq!(key_ids(&one).await.len(), 1);
        let account = create(&one, &User::of("farm"), named("a")).await;
        for (from, to) in [(&one, &two), (&two, &one), (&one, &one)] {
            let old = token(from, &account).await;
            assert_eq!(status(to, &old).await, 200);
            replace_keys(from).await;
            let new = token(from, &account).await;
            assert_eq!(status(to, &new).await, 200, "the other replica has not read the key before");
            assert_eq!(status(to, &old).await, 200);
        }
    });
}
