//! CORS, caching and rate limits of the route group `/v1/public`.

use serde_json::json;
use testkit::User;

use crate::echo::{start, start_with};

#[test]
fn responses_are_readable_for_every_origin_and_cacheable() {
    testkit::block_on(async {
        let app = start().await;
        let found = app.get("/v1/public/hear?must=ab").header("origin", "https://any.example").send().await;
        assert_eq!(found.header("cache-control"), "public, max-age=300");
        assert_eq!(found.header("access-control-allow-origin"), "*");
        assert_eq!(found.ok(), app.get("/v1/hear?must=ab").send().await.ok());
        for (path, status) in [("hear", 400), ("nothing", 404), ("panic", 500)] {
            let error = app.get(&format!("/v1/public/{path}")).send().await;
            assert_eq!((error.status, error.header("access-control-allow-origin")), (status, "*"), "{path}");
            assert_eq!(error.header("cache-control"), "private, no-store", "{path}");
        }
        let spelled = app.get("/v1/publi%63/hear?must=ab").send().await;
        assert_eq!((spelled.status, spelled.header("access-control-allow-origin")), (200, "*"));
        let other = app.get("/v1/hear?must=ab").header("origin", "https://any.example").send().await;
        assert_eq!(other.header("access-control-allow-origin"), "");
    });
}

#[test]
fn answers_preflights() {
    testkit::block_on(async {
        let app = start().await;
        let preflight = |path: &str| {
            let call = app.call("OPTIONS", path).header("origin", "https://any.example");
            call.header("access-control-request-method", "GET")
                .header("access-control-request-headers", "x-request-id")
        };
        let reply = preflight("/v1/public/hear").send().await;
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (204, "*"));
        assert_eq!(reply.header("access-control-allow-headers"), "x-request-id");
        assert_eq!(reply.header("access-control-allow-methods"), "GET, HEAD");
        assert_eq!(reply.header("api-version"), "1.2.0");
        assert_eq!(preflight("/v1/public/nothing").send().await.status, 404);
        assert_eq!(
            preflight("/v1/hear").send().await.error(405),
            "method_not_allowed",
            "not open to every origin"
        );
        let bare = app.call("OPTIONS", "/v1/public/hear").send().await;
        assert_eq!(bare.error(405), "method_not_allowed", "not a preflight");
    });
}

#[test]
fn limits_the_rate_of_operations_without_authorization() {
    testkit::block_on(async {
        let app = start_with(|config| {
            (config.server.rate_per_second, config.server.rate_burst) = (1, 3);
            config.server.trusted_proxies = vec!["127.0.0.0/8".into()];
        });
        let app = app.await;
        let from = |client: &str| app.get("/v1/public/hear?must=ab").header("x-forwarded-for", client);
        for _ in 0..3 {
            assert_eq!(from("198.51.100.7").send().await.status, 200);
        }
        // A slow machine may let one more request through for each second that has passed.
        let mut refused = from("198.51.100.7").send().await;
        for _ in 0..20 {
            if refused.status == 200 {
                refused = from("198.51.100.7").send().await;
            }
        }
        assert_eq!(
            (refused.header("retry-after"), refused.header("access-control-allow-origin")),
            ("1", "*")
        );
        assert_eq!(refused.error(429), "rate_limited");
        let disguised = || app.get("/v1/publi%63/he%61r?must=ab").header("x-forwarded-for", "198.51.100.7");
        let mut spelled = disguised().send().await;
        for _ in 0..20 {
            if spelled.status == 200 {
                spelled = disguised().send().await;
            }
        }
        assert_eq!(spelled.error(429), "rate_limited", "another encoding of the path");
        assert_eq!(from("198.51.100.8").send().await.status, 200, "another client");
        assert_eq!(app.get("/v1/who").by(&User::of("a")).send().await.status, 200, "needs authorization");
        for _ in 0..5 {
            assert_eq!(app.get("/healthz").send().await.status, 200, "not an operation");
        }
    });
}

#[test]
fn document_has_separate_operations() {
    testkit::block_on(async {
        let document = start().await.get("/openapi.json").send().await.ok();
        let [one, other] = ["/v1/hear", "/v1/public/hear"].map(|path| &document["paths"][path]["get"]);
        assert_eq!((&one["operationId"], &other["operationId"]), (&json!("hear"), &json!("hear_public")));
        assert!(
            one["responses"]["429"].is_object()
                && document["paths"]["/v1/who"]["get"]["responses"]["429"].is_null()
        );
    });
}
