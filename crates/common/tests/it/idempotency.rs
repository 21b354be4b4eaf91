//! `Idempotency-Key`: one effect and one response for repeated requests (docs/api/idempotency.md).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use testkit::{App, Backend, TestRequest, TestResponse, User};

use crate::echo::{Echo, thing};

fn post(app: &App, user: &User, key: &str, body: &serde_json::Value) -> TestRequest {
    app.post("/v1/things").by(user).header("idempotency-key", key).json(body)
}

async fn count(app: &App) -> usize {
    let all = app.get("/v1/things?limit=100").by(&User::of("a")).send().await.ok();
    all.as_array().unwrap().len()
}

testkit::on_both! {
    async fn a_repeated_request_returns_the_first_response_and_has_no_effect(backend) {
        let app = App::start::<Echo>(backend, ()).await;
        let user = User::of("a");
        let first = post(&app, &user, "k", &thing("x")).send().await;
        assert_eq!((first.status, first.header("idempotency-replayed")), (200, ""));
        // A caller with another token of the same user and organisation is the same.
        let again = post(&app, &user.clone().with("name", "Renamed"), "k", &thing("x")).send().await;
        assert_eq!((again.status, again.header("idempotency-replayed")), (200, "true"));
        assert_eq!(again.bytes, first.bytes);
        assert_eq!(again.header("location"), first.header("location"));
        assert_eq!(again.header("content-type"), "application/json");
        assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
        assert_eq!(count(&app).await, 1);
        let reused = post(&app, &user, "k", &thing("y")).send().await;
        assert_eq!(reused.error(409), "idempotency_key_reused");
        // Errors of the body precede those of the key.
        assert_eq!(post(&app, &user, "k", &thing("")).send().await.errors(), ["name length"]);
        let elsewhere = user.clone().with("org", "elsewhere");
        for (user, key) in [(User::of("b"), "k"), (elsewhere, "k"), (user.clone(), "K"), (user.clone(), "k ;=/")] {
            let other = post(&app, &user, key, &thing("x")).send().await;
            assert_eq!((other.status, other.header("idempotency-replayed")), (200, ""), "{key}");
        }
        assert_eq!(count(&app).await, 5);
        for _ in 0..2 {
            assert_eq!(app.post("/v1/things").by(&user).json(&thing("x")).send().await.status, 200);
        }
        assert_eq!(count(&app).await, 7);
        let database = app.stop().await;
        let app = App::start_on::<Echo>(database, ()).await;
        let later = post(&app, &user, "k", &thing("x")).send().await;
        assert_eq!((later.header("idempotency-replayed"), &later.bytes), ("true", &first.bytes));
    }

    async fn concurrent_requests_have_one_effect_and_one_response(backend) {
        let app = App::start::<Echo>(backend, ()).await;
        let (user, mut body) = (User::of("a"), thing("x"));
        body["delayMs"] = json!(30);
        let all = join_all((0..20).map(|_| post(&app, &user, "k", &body).send())).await;
        let replayed = all.iter().filter(|reply| reply.header("idempotency-replayed") == "true").count();
        assert_eq!(replayed, 19);
        for reply in &all {
            assert_eq!((reply.status, &reply.bytes), (200, &all[0].bytes), "{}", reply.text());
        }
        assert_eq!(count(&app).await, 1);
    }

    async fn a_failed_request_does_not_use_the_key(backend) {
        let app = App::start::<Echo>(backend, ()).await;
        let (user, mut failing) = (User::of("a"), thing("x"));
        failing["fail"] = json!(true);
        for _ in 0..2 {
            let failed = post(&app, &user, "k", &failing).send().await;
            assert_eq!(failed.json()["message"], "The request specifies this failure.");
            assert_eq!(failed.error(409), "conflict");
        }
        assert_eq!(count(&app).await, 0);
        assert_eq!(post(&app, &user, "k", &thing("x")).send().await.status, 200);
        assert_eq!(count(&app).await, 1);
        // The key is used now, and the failing request is a different one.
        assert_eq!(post(&app, &user, "k", &failing).send().await.error(409), "idempotency_key_reused");
    }

    async fn refuses_keys_of_wrong_length(backend) {
        let app = App::start::<Echo>(backend, ()).await;
        let user = User::of("a");
        let longest = "k".repeat(255);
        assert_eq!(post(&app, &user, &longest, &thing("x")).send().await.status, 200);
        for key in ["", "k".repeat(256).as_str(), "ké"] {
            let refused = post(&app, &user, key, &thing("x")).send().await;
            assert_eq!(refused.errors(), ["Idempotency-Key length"], "{key}");
            let both = post(&app, &user, key, &thing("")).send().await;
            assert_eq!(both.errors(), ["Idempotency-Key length", "name length"], "{key}");
        }
        assert_eq!(count(&app).await, 1);
        let nobody = app.post("/v1/things").header("idempotency-key", "k").json(&thing("x"));
        assert_eq!(nobody.send().await.error(401), "unauthenticated");
    }

    async fn disconnected_and_repeated_requests_have_one_effect(backend) {
        let app = App::start::<Echo>(backend, ()).await;
        let (user, mut body) = (User::of("a"), thing("x"));
        body["delayMs"] = json!(100);
        for wait in [20, 50, 99, 100, 101, 102, 105] {
            let call = post(&app, &user, "k", &body).send();
            let _ = tokio::time::timeout(Duration::from_millis(wait), call).await;
        }
        assert_eq!(post(&app, &user, "k", &body).send().await.status, 200);
        assert_eq!(count(&app).await, 1);
    }

    async fn expired_keys_can_be_used_again(backend) {
        let app = App::start::<Echo>(backend, ()).await;
        let user = User::of("a");
        let first = post(&app, &user, "k", &thing("x")).send().await;
        app.database.execute(&format!("UPDATE idempotency_keys SET created_at = {}", backend.hours_ago(25)));
        let again = post(&app, &user, "k", &thing("another")).send().await;
        assert_eq!((again.status, again.header("idempotency-replayed")), (200, ""));
        assert_ne!(again.bytes, first.bytes);
        assert_eq!(count(&app).await, 2);
    }
}

#[test]
fn a_repeated_request_times_out_while_the_first_is_running() {
    testkit::block_on(async {
        let app = App::start::<Echo>(Backend::Sqlite, ()).await;
        let (user, mut body) = (User::of("a"), thing("x"));
        body["delayMs"] = json!(12_000);
        let started = Instant::now();
        let second = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let reply = post(&app, &user, "k", &body).send().await;
            (reply, started.elapsed())
        };
        let (first, (second, took)) = tokio::join!(post(&app, &user, "k", &body).send(), second);
        assert_eq!(second.error(409), "idempotency_in_progress");
        assert!(took >= Duration::from_secs(6) && took < Duration::from_secs(11), "{took:?}");
        assert_eq!(first.status, 200);
        let later = post(&app, &user, "k", &body).send().await;
        assert_eq!((later.header("idempotency-replayed"), &later.bytes), ("true", &first.bytes));
    });
}

#[test]
fn requests_at_two_replicas_on_postgres_have_one_effect() {
    testkit::block_on(async {
        let one = App::start::<Echo>(Backend::Postgres, ()).await;
        let two = App::start_replica::<Echo>(&one, ()).await;
        let user = User::of("a");
        for round in 0..10 {
            let (key, body) = (format!("k{round}"), thing(&format!("x{round}")));
            let both = [&one, &two, &one, &two, &one, &two];
            let all: Vec<TestResponse> = join_all(both.map(|app| post(app, &user, &key, &body).send())).await;
            let replayed = all.iter().filter(|reply| reply.header("idempotency-replayed") == "true").count();
            for reply in &all {
                assert_eq!((reply.status, &reply.bytes), (200, &all[0].bytes), "{}", reply.text());
            }
            assert_eq!(replayed, 5, "round {round}");
        }
        assert_eq!(count(&two).await, 10);
        two.stop().await;
    });
}
