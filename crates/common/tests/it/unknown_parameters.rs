//! Unknown query parameters: named in a header, or refused in strict mode.

use serde_json::json;
use testkit::User;

use crate::echo::{start, start_with, thing};

#[test]
fn unknown_parameters_are_named() {
    testkit::block_on(async {
        let app = start().await;
        for (path, names) in [
            ("/v1/hear?must=ab", ""),
            ("/v1/hear?must=ab&limt=5&must=cd&limt=6&sttus=x", "limt,sttus"),
            ("/v1/hear?must=ab&a%2Cb%0d%0ax%C3%A4%25=1&", "a%2Cb%0D%0Ax%C3%A4%25"),
            ("/v1/hear?must=ab&=5&flag=", ""),
        ] {
            let reply = app.get(path).by(&User::of("a")).send().await;
            assert_eq!((reply.status, reply.header("x-unknown-parameters")), (200, names), "{path}");
        }
        let post = app.post("/v1/things?x=1").by(&User::of("a")).json(&thing("a")).send().await;
        assert_eq!((post.status, post.header("x-unknown-parameters")), (200, "x"));
        let refused = app.get("/v1/hear?x=1").by(&User::of("a")).send().await;
        assert_eq!(
            (refused.status, refused.header("x-unknown-parameters")),
            (400, "x"),
            "errors name them too"
        );
        let long = format!("/v1/hear?must=ab&limt=5&{}=", "x".repeat(700));
        let reply = app.get(&long).by(&User::of("a")).send().await;
        assert_eq!(reply.header("x-unknown-parameters"), format!("limt,{}", "x".repeat(100)));
        let many = (0..2_000).map(|n| format!("p{n}=")).collect::<Vec<_>>().join("&");
        let reply = app.get(&format!("/v1/hear?must=ab&{many}")).by(&User::of("a")).send().await;
        assert!(reply.header("x-unknown-parameters").starts_with("p0,p1,"));
        assert!(reply.header("x-unknown-parameters").len() <= 2048);
    });
}

#[test]
fn strict_mode_refuses_unknown_parameters_with_all_other_faults() {
    testkit::block_on(async {
        let app = start_with(|config| config.server.strict_parameters = true).await;
        let user = User::of("a");
        app.get("/v1/hear?must=ab").by(&user).send().await.ok();
        let reply = app.get("/v1/hear?limt=5&whole=x").by(&user).send().await;
        let allowed = &reply.json()["validation"];
        let allowed = allowed.as_array().unwrap().iter().find(|entry| entry["path"] == "limt").unwrap();
        assert!(allowed["data"]["allowed"].as_array().unwrap().contains(&json!("whole")));
        assert_eq!(reply.errors(), ["limt enum", "must required", "whole type"]);
        let post = app.post("/v1/things?x=1").by(&user).json(&json!({"name": "a", "tags": []})).send().await;
        assert_eq!(post.errors(), ["price required", "x enum"]);
        let id = app.post("/v1/things").by(&user).json(&thing("a")).send().await.ok();
        assert!(id.is_object());
        let many = (0..2_000).map(|n| format!("p{n}=")).collect::<Vec<_>>().join("&");
        let refused = app.get(&format!("/v1/hear?must=ab&{many}")).by(&user).send().await;
        assert_eq!(refused.errors().len(), 20);
        let settings = app.get("/v1/settings?x=1");
        assert_eq!(settings.by(&User::admin()).send().await.errors(), ["x enum"]);
        app.get("/v1/linked?ms=1&utm_source=x&f:type=y").send().await.ok();
        assert_eq!(app.get("/v1/linked?ms=x&utm_source=x").send().await.errors(), ["ms type"]);
        // The role comes first.
        assert_eq!(app.get("/v1/settings?x=1").by(&user).send().await.status, 403);
        assert_eq!(app.get("/v1/settings?x=1").send().await.status, 401);
    });
}

/// A search without a filter that the caller meant would find too much.
#[test]
fn unknown_filters_are_refused() {
    testkit::block_on(async {
        let app = start().await;
        let reply = app.get("/v1/hear?must=ab&f:sttus=x&limt=5").by(&User::of("a")).send().await;
        let allowed = &reply.json()["validation"][0]["data"]["allowed"];
        assert!(allowed.as_array().unwrap().contains(&json!("must")), "{allowed}");
        assert_eq!(reply.errors(), ["f:sttus enum"]);
        let post = app.post("/v1/things?f:x=1").by(&User::of("a")).json(&thing("a")).send().await;
        assert_eq!(post.errors(), ["f:x enum"]);
    });
}
