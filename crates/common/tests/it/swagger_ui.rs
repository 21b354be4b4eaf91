//! Swagger UI: compression, caching and security headers of its files.

use testkit::{App, TestResponse};

use crate::echo::start;

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
