//! `POST /v1/cache`.

use serde_json::json;
use testkit::User;

use super::{clear, cleared, empty_cache, fetches, start, undisturbed};

testkit::on_both! {
    async fn entries_cleared_from_redis_are_fetched_again(backend) {
        const ALL: [&str; 3] = ["location:words:a", "location:coordinates:1,2", "address:search:GB:a*"];
        let (app, cache, _folder) = start(backend, empty_cache(&testkit::redis_url())).await;
        let cases = [
            (json!({}), "0 entries were", [false; 3]),
            (json!({"keys": null, "prefixes": null, "flush": null, "secrets": null}), "0 entries were", [false; 3]),
            (json!({"keys": [], "prefixes": [], "flush": false, "secrets": false}), "0 entries were", [false; 3]),
            (json!({"keys": ["location:words:a", "location:words"]}), "1 entry was", [true, false, false]),
            (json!({"prefixes": ["location:"]}), "2 entries were", [true, true, false]),
            (json!({"prefixes": ["address:search:GB:a*"]}), "1 entry was", [false, false, true]),
            (json!({"prefixes": ["*", "location:?"]}), "0 entries were", [false; 3]),
            (json!({"keys": ["location:words:a"], "prefixes": ["address"]}), "2 entries were", [true, false, true]),
            (json!({"keys": ["location:words:a"], "flush": true}), "3 entries were", [true; 3]),
        ];
        for (request, entries, expected) in cases {
            let observed = undisturbed(&app, async |_| {
                for key in ALL {
                    fetches(&cache, key).await;
                }
                let reply = clear(&app, request.clone()).await;
                let mut fetched = [false; 3];
                for (fetched, key) in fetched.iter_mut().zip(ALL) {
                    *fetched = fetches(&cache, key).await;
                }
                (reply.json(), fetched)
            });
            assert_eq!(observed.await, (cleared(entries), expected), "{request}");
        }
    }

    async fn memory_cache_can_be_cleared(backend) {
        let (app, _, _folder) = start(backend, empty_cache("memory:")).await;
        assert_eq!(clear(&app, json!({"flush": true})).await.ok(), cleared("0 entries were"));
        app.wait_for_readiness("cache", "ok").await;
    }

    async fn counts_hits_misses_and_size(backend) {
        let (app, cache, _folder) = start(backend, empty_cache("memory:")).await;
        let metrics = async || app.get("/metrics").send().await.text();
        metrics().await;
        let kind = format!("metrics:{backend:?}");
        for key in ["1", "2", "1", "1", "2"] {
            fetches(&cache, &format!("{kind}:{key}")).await;
        }
        let text = metrics().await;
        assert!(text.contains(&format!("drover_cache_misses_total{{kind=\"{kind}\"}} 2\n")), "{text}");
        assert!(text.contains(&format!("drover_cache_hits_total{{kind=\"{kind}\"}} 3\n")), "{text}");
        testkit::wait_until(async || {
            let text = metrics().await;
            text.contains("\ndrover_cache_entries ") && text.contains("\ndrover_cache_bytes ")
        }).await;
    }

    async fn repeated_clears_of_redis_are_replayed(backend) {
        let (app, cache, _folder) = start(backend, empty_cache(&testkit::redis_url())).await;
        let send = async |key: &str, request| {
            let call = app.post("/v1/cache").by(&User::admin()).header("idempotency-key", key);
            call.json(&request).send().await
        };
        let observed = undisturbed(&app, async |attempt| {
            let key = format!("key-{attempt}");
            fetches(&cache, "a:b:1").await;
            let first = send(&key, json!({"flush": true})).await;
            fetches(&cache, "a:b:1").await;
            let repeated = send(&key, json!({"flush": true})).await;
            let is_replay = repeated.headers.contains_key("idempotency-replayed");
            let is_cleared = fetches(&cache, "a:b:1").await;
            let other = send(&key, json!({"keys": ["a:b:1"]})).await;
            (first.json(), repeated.json(), is_replay, is_cleared, other)
        });
        let (first, repeated, is_replay, is_cleared, other) = observed.await;
        assert_eq!((&first, &repeated), (&cleared("1 entry was"), &cleared("1 entry was")));
        assert!(is_replay && !is_cleared, "the replay clears nothing");
        assert_eq!(other.error(409), "idempotency_key_reused");
    }

    async fn only_administrators_may_clear(backend) {
        let (app, _, _folder) = start(backend, empty_cache("memory:")).await;
        let invalid = json!({"keys": 1});
        assert_eq!(app.post("/v1/cache").json(&invalid).send().await.error(401), "unauthenticated");
        for user in [User::of("farm"), User::individual("nobody")] {
            assert_eq!(app.post("/v1/cache").by(&user).json(&invalid).send().await.error(403), "forbidden");
        }
    }

    async fn reports_every_invalid_field(backend) {
        let (app, _, _folder) = start(backend, empty_cache("memory:")).await;
        let (too_long, longest) = ("x".repeat(2001), "ä".repeat(2000));
        let request = json!({
            "keys": ["good", "", 7, too_long, longest, "a\nb"], "prefixes": ["", "  ", null, "a\u{0}"],
            "flush": "yes", "secrets": 1,
        });
        let expected = [
            "flush type", "keys[1] length", "keys[2] type", "keys[3] length", "keys[5] format",
            "prefixes[0] length", "prefixes[1] length", "prefixes[2] type", "prefixes[3] format", "secrets type",
        ];
        assert_eq!(clear(&app, request).await.errors(), expected);
        let too_many = json!({"keys": vec!["a"; 1001], "prefixes": vec!["a"; 1001]});
        assert_eq!(clear(&app, too_many).await.errors(), ["keys length", "prefixes length"]);
        let maximum = json!({"keys": vec!["a"; 1000], "prefixes": vec!["a"; 1000]});
        assert_eq!(clear(&app, maximum).await.ok(), cleared("0 entries were"));
        assert_eq!(clear(&app, json!("flush")).await.errors(), [" type"]);
    }
}
