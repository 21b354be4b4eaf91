//! What goes, and who may have it go.

use std::time::Duration;

use serde_json::json;
use testkit::User;

use super::{asks, clear, cleared, over, start};

testkit::on_both! {
    async fn what_is_cleared_goes_to_the_source_next(backend) {
        const ALL: [&str; 3] = ["location:words:a", "location:coordinates:1,2", "address:search:GB:a*"];
        let (app, cache, _folder) = start(backend, over(&testkit::redis_url())).await;
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
        for (what, count, gone) in cases {
            for key in ALL {
                asks(&cache, key).await;
            }
            assert_eq!(clear(&app, what.clone()).await.ok(), cleared(count), "{what}");
            for (key, gone) in ALL.into_iter().zip(gone) {
                assert_eq!(asks(&cache, key).await, gone, "{key} after {what}");
            }
        }
    }

    async fn the_cache_in_the_process_is_cleared_too(backend) {
        let (app, _, _folder) = start(backend, over("memory:")).await;
        assert_eq!(clear(&app, json!({"flush": true})).await.ok(), cleared("0 entries were"));
        assert_eq!(app.get("/readyz").send().await.ok()["cache"], "ok");
    }

    async fn hits_misses_and_size_are_counted(backend) {
        let (app, cache, _folder) = start(backend, over("memory:")).await;
        let metrics = async || app.get("/metrics").send().await.text();
        metrics().await;
        let kind = format!("metrics:{backend:?}");
        for key in ["1", "2", "1", "1", "2"] {
            asks(&cache, &format!("{kind}:{key}")).await;
        }
        let told = metrics().await;
        assert!(told.contains(&format!("drover_cache_misses_total{{kind=\"{kind}\"}} 2\n")), "{told}");
        assert!(told.contains(&format!("drover_cache_hits_total{{kind=\"{kind}\"}} 3\n")), "{told}");
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let told = metrics().await;
        assert!(told.contains("\ndrover_cache_entries ") && told.contains("\ndrover_cache_bytes "), "{told}");
    }

    async fn a_repeat_is_replayed(backend) {
        let (app, cache, _folder) = start(backend, over(&testkit::redis_url())).await;
        let send = async |what| {
            let call = app.post("/v1/cache").by(&User::admin()).header("idempotency-key", "key");
            call.json(&what).send().await
        };
        asks(&cache, "a:b:1").await;
        assert_eq!(send(json!({"flush": true})).await.ok(), cleared("1 entry was"));
        asks(&cache, "a:b:1").await;
        let again = send(json!({"flush": true})).await;
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!(again.ok(), cleared("1 entry was"));
        assert!(!asks(&cache, "a:b:1").await, "nothing was done");
        assert_eq!(send(json!({"keys": ["a:b:1"]})).await.error(409), "idempotency_key_reused");
    }

    async fn only_administrators_may(backend) {
        let (app, _, _folder) = start(backend, over("memory:")).await;
        let bad = json!({"keys": 1});
        assert_eq!(app.post("/v1/cache").json(&bad).send().await.error(401), "unauthenticated");
        for user in [User::of("farm"), User::individual("nobody")] {
            assert_eq!(app.post("/v1/cache").by(&user).json(&bad).send().await.error(403), "forbidden");
        }
    }

    async fn every_bad_field_is_told(backend) {
        let (app, _, _folder) = start(backend, over("memory:")).await;
        let (long, longest) = ("x".repeat(2001), "ä".repeat(2000));
        let what = json!({
            "keys": ["good", "", 7, long, longest, "a\nb"], "prefixes": ["", "  ", null, "a\u{0}"],
            "flush": "yes", "secrets": 1,
        });
        let expected = [
            "flush type", "keys[1] length", "keys[2] type", "keys[3] length", "keys[5] format",
            "prefixes[0] length", "prefixes[1] length", "prefixes[2] type", "prefixes[3] format", "secrets type",
        ];
        assert_eq!(clear(&app, what).await.errors(), expected);
        let many = json!({"keys": vec!["a"; 1001], "prefixes": vec!["a"; 1001]});
        assert_eq!(clear(&app, many).await.errors(), ["keys length", "prefixes length"]);
        let most = json!({"keys": vec!["a"; 1000], "prefixes": vec!["a"; 1000]});
        assert_eq!(clear(&app, most).await.ok(), cleared("0 entries were"));
        assert_eq!(clear(&app, json!("flush")).await.errors(), [" type"]);
    }
}
