//! The routes outside `/v1`.

use serde_json::json;
use testkit::{App, Backend, TestDatabase, execute_on_server};

use crate::echo::{Echo, start, start_with, thing};

#[test]
fn serves_the_index_the_document_and_metrics() {
    testkit::block_on(async {
        let app = start().await;
        let index = app.get("/").send().await.ok();
        assert_eq!((&index["name"], &index["version"]), (&json!("Echo"), &json!(env!("CARGO_PKG_VERSION"))));
        let links = index["links"].as_object().unwrap();
        for link in ["openapi", "documentation", "health", "readiness", "metrics"] {
            assert!(links.contains_key(link), "{link}");
        }
        for path in links.values() {
            let path = path.as_str().unwrap();
            assert_eq!(app.get(path).send().await.status, 200, "{path}");
        }
        let document = app.get("/openapi.json").send().await.ok();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        let paths = document["paths"].as_object().unwrap();
        assert!(paths.contains_key("/v1/things/{id}") && paths.contains_key("/v1/settings"));
        app.get("/v1/nothing").send().await;
        app.get("/v1/public").send().await;
        let metrics = app.get("/metrics").send().await;
        assert!(metrics.header("content-type").starts_with("text/plain"));
        let text = metrics.text();
        assert!(text.contains(r#"drover_requests_total{operation="public",status="200"}"#), "{text}");
        assert!(text.contains(r#"drover_requests_total{operation="none",status="404"}"#), "{text}");
        assert!(text.contains("drover_request_seconds_bucket"), "{text}");
    });
}

#[test]
fn documentation_loads_nothing_from_other_hosts() {
    testkit::block_on(async {
        let app = start().await;
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let redirect = client.get(format!("{}/docs", app.url)).send().await.unwrap();
        assert!(redirect.status().is_redirection());
        assert_eq!(redirect.headers()["location"], "docs/");
        let page = app.get("/docs/").send().await;
        assert!(page.header("content-type").starts_with("text/html"));
        let html = page.text();
        // Links to the pages of the other services load nothing.
        let mut elements = html.split('<').filter(|element| !element.starts_with("a "));
        assert!(
            elements.all(|element| !element.contains("http://") && !element.contains("https://")),
            "{html}"
        );
        let sources = html
            .split(['"', '\''])
            .filter(|s| [".js", ".css"].iter().any(|end| s.split('?').next().unwrap().ends_with(end)));
        let sources: Vec<_> = sources.map(|s| s.trim_start_matches("./").to_owned()).collect();
        assert!(sources.len() >= 3, "{html}");
        for source in sources {
            let asset = app.get(&format!("/docs/{source}")).send().await;
            assert_eq!(asset.status, 200, "{source}");
            assert!(!asset.bytes.is_empty());
        }
        let start = app.get("/docs/swagger-initializer.js").send().await.text();
        assert!(start.contains("\"openapi.json\""), "{start}");
        assert_eq!(app.get("/docs/no-such-file").send().await.error(404), "not_found");
    });
}

#[test]
fn index_links_have_the_path_of_the_public_url_and_the_console() {
    testkit::block_on(async {
        let [public_url, console_url] = ["https://drover.example/echo/", "https://drover.example/?a=1&b"];
        let app = start_with(|config| {
            config.server.public_url = Some(public_url.parse().unwrap());
            config.server.console_url = Some(console_url.parse().unwrap());
        });
        let app = app.await;
        let index = app.get("/").send().await.ok();
        assert_eq!(index["links"]["documentation"], "/echo/docs/");
        assert_eq!(index["links"]["console"], console_url);
        let page = app.get("/").header("accept", "text/html").send().await.text();
        assert!(page.contains("<a href=\"https://drover.example/?a=1&amp;b\">console</a>"), "{page}");
    });
}

#[test]
fn readiness_reports_unreachable_dependencies() {
    testkit::block_on(async {
        let app = start().await;
        assert_eq!(
            app.wait_for_readiness("background", "ok").await,
            json!({"status": "ok", "database": "ok", "keys": "ok", "reachable": "ok", "unreachable": "degraded", "background": "ok"})
        );
    });
}

#[test]
fn a_service_without_postgres_is_alive_but_not_ready() {
    testkit::block_on(async {
        let database = TestDatabase::new::<Echo>(Backend::Postgres).await;
        let mut config = testkit::config::<Echo>(&database, ());
        config.database.wait_ms = 1000;
        let app = App::start_with::<Echo>(database, config).await;
        app.wait_for_readiness("status", "ok").await;
        execute_on_server(&format!("DROP DATABASE {} WITH (FORCE)", app.database.name()));
        let (ready, alive, found) = tokio::join!(
            app.get("/readyz").send(),
            app.get("/healthz").send(),
            app.get("/v1/things").by(&testkit::User::of("a")).send()
        );
        assert_eq!((ready.status, alive.status), (503, 200));
        assert_eq!(ready.json()["database"], "unavailable");
        assert_eq!(found.header("retry-after"), "2");
        found.assert_no_internals();
        let body = found.json();
        assert!(body["message"].as_str().unwrap().starts_with("The database cannot be reached"), "{body}");
        assert_eq!(found.error(503), "dependency_unavailable");
    });
}

#[test]
fn a_service_whose_database_file_was_removed_is_not_ready() {
    testkit::block_on(async {
        let app = start().await;
        app.wait_for_readiness("status", "ok").await;
        std::fs::remove_file(app.database.url.strip_prefix("sqlite://").unwrap()).unwrap();
        let ready = app.get("/readyz").send().await;
        assert_eq!((ready.status, &ready.json()["database"]), (503, &json!("unavailable")));
        assert_eq!(app.get("/healthz").send().await.status, 200);
        let made = app.post("/v1/things").by(&testkit::User::of("a")).json(&thing("x")).send().await;
        assert_eq!(made.error(503), "dependency_unavailable");
    });
}
