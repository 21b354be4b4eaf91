//! Swagger UI: compression, caching and security headers of its files.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::{App, TestResponse};

use crate::echo::{start, start_with};

/// Returns the path of a file with its hash, as the page links to it.
async fn hashed_path(app: &App, name: &str) -> String {
    let html = app.get("/docs/").send().await.text();
    let begin = html.find(&format!("{name}?v=")).unwrap_or_else(|| panic!("{name} in {html}"));
    format!("/docs/{}", html[begin..].split('"').next().unwrap())
}

async fn get(app: &App, path: &str, coding: &str) -> TestResponse {
    app.get(path).header("accept-encoding", coding).send().await
}

#[test]
fn sends_files_with_gzip_if_accepted() {
    testkit::block_on(async {
        let app = start().await;
        let path = "/docs/swagger-ui-bundle.js";
        let plain = get(&app, path, "identity").await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, ""));
        for coding in ["gzip", "br, gzip;q=0.5, zstd"] {
            let packed = get(&app, path, coding).await;
            assert_eq!(packed.header("content-encoding"), "gzip", "{coding}");
            assert_eq!(packed.header("content-length"), packed.bytes.len().to_string());
            assert!(packed.bytes.starts_with(&[0x1f, 0x8b]) && packed.bytes.len() * 3 < plain.bytes.len());
            assert_eq!(packed.header("etag"), plain.header("etag"));
            assert_eq!(packed.header("content-type"), plain.header("content-type"));
        }
        // For other codings the file would have to be compressed for each request.
        for coding in ["", "gzip;q=0", "br", "zstd", "deflate", "br, zstd;q=0.9, gzip;q=0", "identity"] {
            let reply = &get(&app, path, coding).await;
            assert_eq!(reply.header("content-encoding"), "", "{coding}");
            assert_eq!(reply.header("content-length"), plain.bytes.len().to_string(), "{coding}");
            assert_eq!(reply.header("vary").to_lowercase(), "accept-encoding");
            assert!(reply.bytes == plain.bytes);
        }
    });
}

#[test]
fn files_with_their_hash_are_cacheable_for_a_year() {
    testkit::block_on(async {
        let app = start().await;
        for name in ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-initializer.js", "favicon-32x32.png"]
        {
            let path = hashed_path(&app, name).await;
            let reply = get(&app, &path, "gzip").await;
            assert_eq!(reply.status, 200, "{path}");
            assert_eq!(reply.header("cache-control"), "public, max-age=31536000, immutable", "{path}");
            let hash = path.split("?v=").nth(1).unwrap();
            assert_eq!(reply.header("etag"), format!("W/\"{hash}\""));
            for other in [format!("/docs/{name}"), format!("/docs/{name}?v=0"), format!("{path}0")] {
                let reply = get(&app, &other, "gzip").await;
                assert_eq!((reply.status, reply.header("cache-control")), (200, "no-cache"), "{other}");
            }
        }
        assert_eq!(app.get("/docs/").send().await.header("cache-control"), "no-cache");
    });
}

/// Follows all links between the pages of the guide, and to their headings.
#[test]
fn serves_the_guide() {
    testkit::block_on(async {
        let app = start().await;
        let redirected = app.get("/docs/guide").send().await.text();
        assert_eq!(redirected, app.get("/docs/guide/").send().await.text());
        let (mut pages, mut links) = (BTreeMap::new(), vec![String::new()]);
        let mut anchors = Vec::new();
        while let Some(name) = links.pop() {
            if pages.contains_key(&name) {
                continue;
            }
            let path = format!("/docs/guide/{name}");
            let reply = get(&app, &path, "gzip").await;
            assert_eq!((reply.status, reply.header("content-encoding")), (200, "gzip"), "{path}");
            let html = get(&app, &path, "identity").await.text();
            for link in html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
                match page.strip_prefix("./") {
                    Some(page) => links.push(page.to_owned()),
                    None => {
                        assert!(page.is_empty() || page.starts_with("../") || page.contains("://"), "{link}");
                    }
                }
                let page = page.strip_prefix("./").unwrap_or(&name).to_owned();
                anchors.extend((!anchor.is_empty()).then(|| (page, format!("id=\"{anchor}\""))));
            }
            pages.insert(name, html);
        }
        assert!(["", "authentication", "loads", "webhooks"].iter().all(|name| pages.contains_key(*name)));
        assert!(anchors.len() > 20);
        for (page, anchor) in anchors {
            assert!(pages[&page].contains(&anchor), "{page} {anchor}");
        }
        assert_eq!(app.get("/docs/guide/no-page").send().await.status, 404);
    });
}

#[test]
fn revalidates_by_etag() {
    testkit::block_on(async {
        let app = start().await;
        for path in ["/docs/", "/docs/swagger-ui-bundle.js"] {
            let tag = app.get(path).send().await.header("etag").to_owned();
            let strong = tag.trim_start_matches("W/").to_owned();
            for known in [&tag, &strong, &format!("\"x\", {tag}"), "*"] {
                let reply = app.get(path).header("if-none-match", known).header("accept-encoding", "gzip");
                let reply = reply.send().await;
                assert_eq!((reply.status, reply.bytes.len()), (304, 0), "{path} {known}");
                assert_eq!((reply.header("etag"), reply.header("cache-control")), (&*tag, "no-cache"));
            }
            let other = app.get(path).header("if-none-match", "W/\"x\"").send().await;
            assert_eq!(other.status, 200);
        }
    });
}

#[test]
fn forbids_framing_by_other_pages() {
    testkit::block_on(async {
        let app = start().await;
        for path in ["/docs/", "/docs/index.html", "/docs/swagger-ui-bundle.js", "/docs/oauth2-redirect.html"]
        {
            let reply = app.get(path).send().await;
            let policy = reply.header("content-security-policy");
            for part in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"] {
                assert!(policy.contains(part), "{path}: {policy}");
            }
            assert_eq!(reply.header("x-content-type-options"), "nosniff");
        }
        let start = app.get("/docs/swagger-initializer.js").send().await.text();
        assert!(start.contains("\"validatorUrl\": \"none\""), "{start}");
    });
}

#[test]
fn offers_a_login_if_it_is_configured() {
    testkit::block_on(async {
        let with = start_with(|config| {
            let docs = &mut config.auth.docs;
            docs.authorization_url = Some("https://login.example/authorize?audience=x".parse().unwrap());
            docs.token_url = Some("https://tokens.example:8443/oauth/token".parse().unwrap());
            docs.client_id = Some("drover-docs".to_owned());
            docs.scopes = vec!["openid".to_owned()];
        });
        let (with, without) = (with.await, start().await);
        let text = async |app: &App, path: &str| app.get(path).send().await.text();
        let [document, plain] = [&with, &without].map(|app| text(app, "/openapi.json"));
        let [mut document, plain]: [Value; 2] =
            [document.await, plain.await].map(|text| serde_json::from_str(&text).unwrap());
        let scheme = document["components"]["securitySchemes"].as_object_mut().unwrap().remove("login");
        let flow = json!({
            "authorizationUrl": "https://login.example/authorize?audience=x",
            "tokenUrl": "https://tokens.example:8443/oauth/token",
            "scopes": {"openid": ""},
        });
        assert_eq!(scheme, Some(json!({"type": "oauth2", "flows": {"authorizationCode": flow}})));
        let secured = document.to_string().replace(r#"{"bearer":[]},{"login":[]}"#, r#"{"bearer":[]}"#);
        assert_eq!(secured, plain.to_string(), "everything else is as without the login");

        let initializer = "/docs/swagger-initializer.js";
        let (login, plain) = (text(&with, initializer).await, text(&without, initializer).await);
        let configured =
            login.split("ui.initOAuth(").nth(1).and_then(|rest| rest.split(");").next()).unwrap();
        let expected = json!({"clientId": "drover-docs", "scopes": ["openid"], "usePkceWithAuthorizationCodeGrant": true});
        assert_eq!(serde_json::from_str::<Value>(configured).unwrap(), expected);
        assert!(!plain.contains("initOAuth"), "{plain}");
        assert_eq!(login.replace(&format!("\nui.initOAuth({configured});"), ""), plain);

        for path in ["/docs/", "/docs/oauth2-redirect.html"] {
            let policy = with.get(path).send().await.header("content-security-policy").to_owned();
            assert!(policy.contains("; connect-src 'self' https://tokens.example:8443; "), "{policy}");
            assert!(!policy.contains("login.example"), "{policy}");
        }
        let policy = without.get("/docs/").send().await.header("content-security-policy").to_owned();
        assert!(policy.contains("; connect-src 'self'; "), "{policy}");
        // The page that receives the code has no inline script, which the policy forbids.
        let redirect = text(&with, "/docs/oauth2-redirect.html").await;
        assert!(redirect.contains(r#"<script src="oauth2-redirect.js"></script>"#), "{redirect}");
        assert!(text(&with, "/docs/oauth2-redirect.js").await.contains("swaggerUIRedirectOauth2"));
    });
}
