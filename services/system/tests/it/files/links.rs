//! Signed links.

use serde_json::{Value, json};
use system::System;
use testkit::{App, Backend, TestDatabase, TestResponse, User};

use super::{Files, PDF, PNG, form, id, on_all, part, start};
use crate::with_temp_store;

/// Creates a link. Returns its path and query.
async fn link(app: &App, user: &User, file: &str, body: Value) -> String {
    let link = app.post(&format!("/v1/files/{file}/link")).by(user).json(&body).send().await.ok();
    path(&link)
}

/// Returns the path and the query of a link.
fn path(link: &Value) -> String {
    let url = link["url"].as_str().unwrap();
    url[url.find("/v1/public/files/").unwrap()..].to_owned()
}

async fn get(files: &Files, path: &str) -> TestResponse {
    files.app.get(path).send().await
}

/// Returns the link with another value of a parameter.
fn with(link: &str, name: &str, value: &str) -> String {
    let (path, query) = link.split_once('?').unwrap();
    let parts = query.split('&').map(|part| match part.split_once('=') {
        Some((key, _)) if key == name => format!("{name}={value}"),
        _ => part.to_owned(),
    });
    format!("{path}?{}", parts.collect::<Vec<_>>().join("&"))
}

on_all! {
    async fn a_link_downloads_a_file_without_a_token(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let file = files.make(&farm, "contract", PDF).await;
        let created = files.app.post(&format!("/v1/files/{file}/link")).by(&farm).send().await.ok();
        let expires = created["expiresAtUTC"].as_str().unwrap();
        assert_eq!(expires.strip_suffix("000Z").map(str::len), Some(20), "{expires}");
        assert_eq!(created.as_object().unwrap().len(), 2);
        let path = path(&created);
        let (by_link, by_token) = (get(&files, &path).await, files.get(&farm, &file).await);
        assert_eq!((by_link.status, &*by_link.bytes), (200, PDF));
        for name in ["content-type", "content-disposition", "etag", "last-modified", "accept-ranges"] {
            assert_eq!(by_link.header(name), by_token.header(name), "{name}");
        }
        let left = by_link.header("cache-control").strip_prefix("private, max-age=").unwrap();
        assert!((3590..=4500).contains(&left.parse::<i64>().unwrap()), "{left}");
        assert_eq!(by_link.header("access-control-allow-origin"), "*");
        assert_eq!(by_link.header("x-content-type-options"), "nosniff");
        // A bad token is ignored.
        assert_eq!(files.app.get(&path).bearer("x").send().await.status, 200);
        let head = files.app.call("HEAD", &path).send().await;
        assert_eq!((head.status, head.header("content-length")), (200, &*PDF.len().to_string()));
        let range = files.app.get(&path).header("Range", "bytes=1-3").send().await;
        assert_eq!((range.status, &*range.bytes), (206, &PDF[1..4]));
        let known = files.app.get(&path).header("If-None-Match", by_link.header("etag")).send().await;
        assert_eq!(known.status, 304);
        assert!(known.header("cache-control").starts_with("private, max-age="));
    }

    async fn changed_and_expired_links_are_refused(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let (file, other) = (files.make(&farm, "misc", b"a").await, files.make(&farm, "misc", b"b").await);
        let path = link(&files.app, &farm, &file, json!({"expiresInSeconds": 60})).await;
        assert_eq!(get(&files, &path).await.status, 200);
        let expires: i64 = path.split("expires=").nth(1).unwrap().split('&').next().unwrap().parse().unwrap();
        for changed in [
            path.replace(&file, &other),
            with(&path, "expires", &(expires + 1).to_string()),
            with(&path, "expires", &(expires - 3600).to_string()),
            with(&path, "expires", "soon"),
            with(&path, "expires", ""),
            with(&path, "key", "7"),
            with(&path, "key", "99999999999999999999"),
            with(&path, "signature", "AAAA"),
            format!("{path}A"),
            format!("{path}&expires={expires}"),
            path.replacen("expires=", "expires=1&expires=", 1),
            path.split("&signature").next().unwrap().to_owned(),
            path.split('?').next().unwrap().to_owned(),
        ] {
            let refused = get(&files, &changed).await;
            assert_eq!(refused.header("access-control-allow-origin"), "*");
            assert_eq!(refused.error(403), "forbidden", "{changed}");
        }
        assert_eq!(get(&files, &path.replace(&file, "x")).await.error(404), "not_found");
        assert_eq!(get(&files, &format!("{path}&width=320")).await.status, 200);
        assert_eq!(get(&files, &format!("{path}&width=321")).await.errors(), ["width enum"]);
    }

    /// Who made a link must be able to read the file at each download.
    async fn a_link_ends_with_the_right_of_its_maker(storage) {
        let files = start(storage).await;
        let (farm, haulier, mart) = (User::of("farm"), User::of("haulier"), User::of("mart"));
        let file = files.make(&farm, "contract", b"a").await;
        files.resolve(&farm, json!({"ids": [file], "shareWith": ["haulier", "mart"]})).await.ok();
        let mut links = Vec::new();
        for user in [&farm, &haulier, &mart, &User::admin()] {
            links.push(link(&files.app, user, &file, json!({})).await);
        }
        let statuses = async || {
            let mut statuses = Vec::new();
            for link in &links {
                statuses.push(get(&files, link).await.status);
            }
            statuses
        };
        assert_eq!(statuses().await, [200; 4]);
        files.resolve(&farm, json!({"ids": [file], "unshareWith": ["haulier"]})).await.ok();
        assert_eq!(statuses().await, [200, 403, 200, 200]);
        assert_eq!(get(&files, &links[1]).await.error(403), "forbidden");
        files.resolve(&farm, json!({"ids": [file], "shareWith": ["*"], "unshareWith": ["mart"]})).await.ok();
        assert_eq!(statuses().await, [200; 4], "everybody may read it");
        // A link does not tell who made it.
        assert!(links.iter().all(|link| !link.contains("farm") && !link.contains("haulier")), "{links:?}");
        let alone = User::individual("ann");
        let own = files.make(&alone, "contract", b"b").await;
        assert_eq!(get(&files, &link(&files.app, &alone, &own, json!({})).await).await.status, 200);
    }

    async fn additional_parameters_of_a_link_are_ignored(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let file = files.make(&farm, "contract", b"a").await;
        let path = link(&files.app, &farm, &file, json!({})).await;
        for more in ["&utm_source=mail", "&fbclid", "&f:type=x", "&&x="] {
            assert_eq!(get(&files, &format!("{path}{more}")).await.status, 200, "{more}");
        }
        assert_eq!(get(&files, &format!("{path}&by=everybody")).await.error(403), "forbidden");
    }

    async fn an_archived_file_has_no_links(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let file = files.make(&farm, "misc", b"a").await;
        let path = link(&files.app, &farm, &file, json!({})).await;
        files.archive(&farm, &file).await.ok();
        assert_eq!(get(&files, &path).await.error(404), "not_found");
        for user in [farm, User::admin()] {
            let created = files.app.post(&format!("/v1/files/{file}/link")).by(&user).send().await;
            assert_eq!(created.error(404), "not_found");
        }
    }
}

testkit::on_both! {
    async fn several_files_are_linked_at_once(backend) {
        let files = start(backend).await;
        let (farm, other) = (User::of("farm"), User::of("other"));
        let (a, b) = (files.make(&farm, "misc", b"a").await, files.make(&farm, "misc", b"b").await);
        let (archived, foreign) = (files.make(&farm, "misc", b"c").await, files.make(&other, "misc", b"d").await);
        files.archive(&farm, &archived).await.ok();
        let unknown = "01890f5f-e000-7000-8000-000000000000";
        let body = json!({"ids": [b, unknown, "no id", a, archived, b, foreign], "expiresInSeconds": 604_800});
        let response = files.app.post("/v1/files/links").by(&farm).json(&body).send().await;
        assert_eq!(response.header("x-missing-ids"), [unknown, &archived, &foreign].join(","));
        let links = response.ok();
        let ids: Vec<_> = links.as_array().unwrap().iter().map(id).collect();
        assert_eq!(ids, [b, a]);
        assert_eq!(get(&files, &path(&links[0])).await.bytes, b"b");
        assert_eq!(get(&files, &path(&links[1])).await.bytes, b"a");
        let body = json!({"ids": vec![unknown; 51], "expiresInSeconds": 59, "width": 100});
        let errors = files.app.post("/v1/files/links").by(&farm).json(&body).send().await.errors();
        assert_eq!(errors, ["expiresInSeconds range", "ids length", "width enum"]);
        let body = json!({"ids": [], "expiresInSeconds": 604_801});
        let errors = files.app.post("/v1/files/links").by(&farm).json(&body).send().await.errors();
        assert_eq!(errors, ["expiresInSeconds range", "ids length"]);
    }

    async fn anybody_gets_links_to_images_that_are_shared_with_everybody(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let shared = files.make(&farm, "image", PNG).await;
        let (private, open) = (files.make(&farm, "image", PNG).await, files.make(&farm, "avatar", PNG).await);
        let (paper, archived) = (files.make(&farm, "misc", b"text").await, files.make(&farm, "image", PNG).await);
        let ids = json!([shared, paper, archived]);
        let body = json!({"ids": ids, "shareWith": "*"});
        files.app.post("/v1/files/resolve").by(&farm).json(&body).send().await.ok();
        files.archive(&farm, &archived).await.ok();
        let unknown = "01890f5f-e000-7000-8000-000000000000";
        let query = [unknown, "no id", &private, &open, &paper, &archived, &shared, &shared].join(",");
        let response = files.app.get(&format!("/v1/public/images/links?ids={query}")).send().await;
        assert_eq!(response.header("access-control-allow-origin"), "*");
        assert_eq!(response.header("cache-control"), "public, max-age=60");
        let links = response.ok();
        assert_eq!(links.as_array().unwrap().iter().map(id).collect::<Vec<_>>(), [shared.as_str()]);
        let image = get(&files, &path(&links[0])).await;
        assert_eq!((image.header("content-type"), &image.bytes[..]), ("image/png", PNG));
        let many = vec![unknown; 51].join(",");
        for (query, error) in [(String::new(), "ids required"), (format!("?ids={many}"), "ids length")] {
            let refused = files.app.get(&format!("/v1/public/images/links{query}")).send().await;
            assert_eq!(refused.errors(), [error]);
        }
    }

    async fn links_to_public_images_can_be_switched_off(backend) {
        let (mut settings, _folder) = with_temp_store(system::Settings::default());
        settings.public_images = false;
        let app = App::start::<System>(backend, settings).await;
        let path = "/v1/public/images/links?ids=01890f5f-e000-7000-8000-000000000000";
        assert_eq!(app.get(path).send().await.error(404), "not_found");
    }

    async fn replicas_share_the_keys(backend) {
        let (settings, _folder) = with_temp_store(system::Settings::default());
        let database = TestDatabase::new::<System>(backend).await;
        // Two that start at once make one key.
        let first = App::start_on::<System>(database, settings.clone()).await;
        let (second, third) = tokio::join!(
            App::start_replica::<System>(&first, settings.clone()),
            App::start_replica::<System>(&first, settings.clone()),
        );
        let farm = User::of("farm");
        let upload = form("files", "misc", "x").part("file", part(b"x"));
        let file = id(&first.post("/v1/files").by(&farm).form(upload).send().await.ok());
        let old = link(&first, &farm, &file, json!({})).await;
        assert_eq!(second.get(&old).send().await.status, 200);

        third.post("/v1/cache").by(&User::admin()).json(&json!({"secrets": true})).send().await.ok();
        let new = link(&second, &farm, &file, json!({})).await;
        assert!(old.contains("&key=1&") && new.contains("&key=2&"), "{old} {new}");
        for replica in [&first, &second, &third] {
            assert_eq!(replica.get(&old).send().await.status, 200, "links of the key before stay valid");
            assert_eq!(replica.get(&new).send().await.status, 200);
        }
        assert_eq!(first.get(&with(&new, "key", "1")).send().await.status, 403);
        // A key is deleted once its links have expired.
        let expired = if backend == Backend::Sqlite { "0" } else { "timestamptz '2020-01-01'" };
        first.database.execute(&format!("UPDATE link_keys SET replaced_at = {expired} WHERE number = 1"));
        assert_eq!(first.get(&old).send().await.status, 403, "the key was replaced long ago");
        first.post("/v1/cache").by(&User::admin()).json(&json!({"secrets": true})).send().await.ok();
        assert_eq!(first.database.count("link_keys"), 2);
        for _ in 0..100 {
            first.post("/v1/cache").by(&User::admin()).json(&json!({"secrets": true})).send().await.ok();
        }
        assert_eq!(first.database.count("link_keys"), 100, "the number of keys is limited");
        let newest = link(&first, &farm, &file, json!({})).await;
        assert!(newest.contains("&key=103&"), "{newest}");
    }

    async fn browsers_may_use_links_from_any_origin(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let file = files.make(&farm, "misc", b"a").await;
        let path = link(&files.app, &farm, &file, json!({})).await;
        let preflight = files.app.call("OPTIONS", &path).header("Origin", "https://shop.example")
            .header("Access-Control-Request-Method", "GET").send().await;
        assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, "*"));
    }
}
