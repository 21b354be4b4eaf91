//! The two groups of routes without token, `/v1` and `/v1/public` (docs/api/browsers.md).

use serde_json::Value;
use system::{Settings, System};
use testkit::{App, Backend, TestDatabase, TestResponse, User};

use super::start;
use crate::with_temp_store;

const PATHS: [&str; 6] = [
    "/locations/three-words?query=",
    "/locations/address?id=postcode:HR49AR",
    "/locations/coordinates?lat=52&lon=-3",
    "/addresses?query=Hereford",
    "/countries?enabled=true",
    "/regions",
];

#[test]
fn public_routes_add_cors_and_caching() {
    testkit::block_on(async {
        let app = start().await;
        let at = app.by_coordinates(52.0565, -2.716).await.ok();
        for path in PATHS {
            let path = path.replace("query=", &format!("query={}", at["threeWords"].as_str().unwrap()));
            let plain = app.get(&format!("/v1{path}")).send().await;
            assert_eq!(plain.header("cache-control"), "private, no-store", "{path}");
            assert_eq!(plain.header("access-control-allow-origin"), "", "{path}");
            let get =
                |method| app.call(method, &format!("/v1/public{path}")).header("origin", "https://a.example");
            let public = get("GET").send().await;
            assert!(public.header("cache-control").starts_with("public"), "{path}");
            assert_eq!(public.header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(public.header("api-version"), "1.2.0");
            let head = get("HEAD").send().await;
            assert_eq!((head.status, head.bytes.len()), (200, 0), "{path}");
            assert_eq!(head.header("content-length"), public.header("content-length"), "{path}");
            assert_eq!(public.ok(), plain.ok(), "{path}");
        }
    });
}

#[test]
fn public_routes_answer_preflight_requests() {
    testkit::block_on(async {
        let app = start().await;
        for path in PATHS {
            let path = format!("/v1/public{path}");
            let preflight = app.call("OPTIONS", &path).header("origin", "https://a.example");
            let reply = preflight.header("access-control-request-method", "GET").send().await;
            assert_eq!(reply.status, 204, "{path}");
            assert_eq!(reply.header("access-control-allow-origin"), "*");
            assert!(reply.header("access-control-allow-methods").contains("GET"));
            assert_eq!(app.post(&path).send().await.error(405), "method_not_allowed");
        }
        let refused = app.get("/v1/public/locations/coordinates?lat=91&lon=0").send().await;
        assert_eq!(
            refused.header("access-control-allow-origin"),
            "*",
            "browsers hide errors without this header"
        );
        assert_eq!(refused.errors(), ["lat range"]);
    });
}

#[test]
fn invalid_tokens_are_ignored() {
    testkit::block_on(async {
        let app = start().await;
        for group in ["/v1", "/v1/public"] {
            for path in &PATHS[1..] {
                let path = format!("{group}{path}");
                let plain: Value = app.get(&path).send().await.ok();
                assert_eq!(app.get(&path).bearer("nonsense").send().await.ok(), plain, "{path}");
                let token = User::individual("someone").with("iss", "elsewhere").token();
                assert_eq!(app.get(&path).bearer(&token).send().await.ok(), plain, "{path}");
            }
        }
    });
}

#[test]
fn requests_without_token_are_rate_limited() {
    testkit::block_on(async {
        let database = TestDatabase::new::<System>(Backend::Sqlite).await;
        let (settings, _folder) = with_temp_store(Settings::default());
        let mut config = testkit::config::<System>(&database, settings);
        (config.server.rate_per_second, config.server.rate_burst) = (1, 6);
        let app = App::start_with::<System>(database, config).await;
        let mut replies: Vec<TestResponse> = Vec::new();
        for (path, group) in PATHS.iter().zip(["/v1", "/v1/public"].into_iter().cycle()) {
            replies.push(app.get(&format!("{group}{path}")).send().await);
        }
        assert!(replies.iter().all(|reply| reply.status != 429), "within the burst");
        let mut limited = app.get("/v1/countries").send().await;
        while limited.status != 429 {
            limited = app.get("/v1/countries").send().await;
        }
        assert!(limited.header("retry-after").parse::<u64>().unwrap() >= 1);
        assert_eq!(limited.error(429), "rate_limited");
        let files = app.get("/v1/files/x/info").by(&User::of("farm")).send().await;
        assert_eq!(files.status, 404, "operations that need a token are not limited");
    });
}
