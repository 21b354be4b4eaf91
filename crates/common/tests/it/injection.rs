//! Header injection, and leaks of internals in errors.

use testkit::User;

use crate::echo::{start, thing};

#[test]
fn parameters_cannot_inject_headers() {
    testkit::block_on(async {
        let app = start().await;
        let user = User::of("a");
        for n in 0..3 {
            app.post("/v1/things").by(&user).json(&thing(&format!("x{n}"))).send().await.ok();
        }
        for query in [
            "x=%0d%0aX-Injected:%20y",
            "x=%0aX-Injected:%20y&%0d%0aX-Injected:=1",
            "x=%3E;%20rel=%22next%22,%20%3Chttp://evil.example/%3E",
            "%22%3E=%00&x=%1b",
            "x=%E2%80%A8X-Injected",
        ] {
            let reply = app.get(&format!("/v1/things?limit=1&{query}")).by(&user).send().await;
            assert_eq!(reply.status, 200, "{query}: {}", reply.text());
            let links = reply.header("link");
            assert!(!reply.headers.contains_key("x-injected") && !links.is_empty(), "{query}");
            assert_eq!((links.matches('<').count(), links.matches("; rel=").count()), (2, 2), "{links}");
        }
        let long = format!("/v1/things?limit=1&x={}", "y".repeat(20_000));
        let reply = app.get(&long).by(&user).send().await;
        let links = reply.header("link");
        assert_eq!(links, "", "a header of more than 4 KiB is left out");
        for id in ["a;b\"c", "<x>", "{{7*7}}", "x,y"] {
            let reply = app.get("/v1/nothing").header("x-request-id", id).send().await;
            assert_eq!(reply.header("x-request-id"), id);
            assert_eq!(reply.json()["body"]["requestId"], id);
        }
        let preflight = app
            .call("OPTIONS", "/v1/public/hear")
            .header("origin", "https://any.example\t")
            .header("access-control-request-method", "GET");
        let reply = preflight.header("access-control-request-headers", "x; y\tz, \"q\"").send().await;
        assert_eq!(reply.status, 204);
        assert!(!reply.headers.contains_key("x-injected"));
    });
}

#[test]
fn errors_contain_no_internals() {
    testkit::block_on(async {
        let app = start().await;
        for path in [
            "/v1/panic",
            "/v1/bug",
            "/v1/nothing",
            "/v1/who",
            "/v1/hear?whole=x",
            "/v1/things/x",
            "/docs/none",
        ] {
            app.get(path).by(&User::admin()).send().await.assert_no_internals();
        }
        app.database.execute("DROP TABLE things");
        let broken = app.get("/v1/things").by(&User::admin()).send().await;
        assert_eq!(broken.status, 500);
        broken.assert_no_internals();
    });
}
