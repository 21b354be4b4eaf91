//! Validation of uploads. A refused upload stores nothing.

use reqwest::multipart::Form;
use testkit::User;

use super::{PNG, form, part, start};

testkit::on_both! {
    async fn reports_all_invalid_fields_at_once(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        let all = ["bucket required", "file required", "name required", "type required"];
        assert_eq!(files.upload(&user, Form::new().text("other", "x")).await.errors(), all);
        let long = "x".repeat(201);
        let form = form("pictures", "invoice", " ").part("file", part(b""));
        let form = form.text("organisationId", long.clone()).text("organisations", format!("a,{long}"));
        let invalid = ["bucket enum", "file length", "name length", "organisationId length", "organisations length", "type enum"];
        let reply = files.upload(&user, form).await;
        assert_eq!(reply.json()["code"], "validation_failed");
        let validation = reply.json()["validation"].clone();
        let bucket = validation.as_array().unwrap().iter().find(|e| e["path"] == "bucket").unwrap().clone();
        assert_eq!(bucket["data"]["allowed"], serde_json::json!(["images", "files"]));
        assert_eq!(reply.errors(), invalid);
        assert_eq!(files.stored().await, [""; 0].map(std::path::PathBuf::from));
    }

    async fn rejects_control_characters_and_long_names(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        for name in ["a\r\nSet-Cookie: b", "a\0b", "a\u{85}b"] {
            let reply = files.upload(&user, form("files", "misc", name).part("file", part(b"x"))).await;
            assert_eq!(reply.errors(), ["name format"], "{name:?}");
        }
        let long = "é".repeat(201);
        let reply = files.upload(&user, form("files", "misc", &long).part("file", part(b"x"))).await;
        assert_eq!(reply.errors(), ["name length"]);
        let fits = "é".repeat(200);
        assert_eq!(files.upload(&user, form("files", "misc", &fits).part("file", part(b"x"))).await.status, 200);
        // The file names of further parts are validated too.
        let two = form("files", "misc", "x").part("file", part(b"x")).part("file", part(b"x").file_name(long));
        assert_eq!(files.upload(&user, two).await.errors(), ["file length"]);
    }

    async fn bucket_images_requires_images(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        for content in [
            &b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..],
            b"%PDF-1.7",
            b"GIF vouchers",
            b"GIF89a but not really",
            b"BM\0\0",
            b"\x89PNG but not really",
            b"\x89PNG\r\n\x1a\n",
            b"\xff\xd8\xff but not really",
            b"RIFF but WEBP not really",
            b"\0\0\0\x18ftypheic",
            b"\0\0\0\x14ftypmp42\0\0\0\0isom",
        ] {
            let part = part(content).mime_str("image/png").unwrap();
            let reply = files.upload(&user, form("images", "image", "x.png").part("file", part)).await;
            assert_eq!(reply.errors(), ["file format"]);
        }
        let text = files.make(&user, "misc", b"\x89PNG but not really").await;
        assert_eq!(files.info(&user, &text).await.ok()["contentType"], "application/octet-stream");
        files.archive(&user, &text).await.ok();
        let stored = files.stored().await.len();
        let second = form("images", "image", "x").part("file", part(PNG)).part("file", part(b"text"));
        let reply = files.upload(&user, second).await;
        assert_eq!(reply.json()["validation"][0]["data"]["index"], 1);
        assert_eq!(reply.errors(), ["file format"]);
        assert_eq!(files.stored().await.len(), stored);
        for (content, media_type) in [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01", "image/jpeg"),
            (b"GIF89a\x01\0\x01\0\x80\0\0", "image/gif"),
            (b"RIFF\x24\0\0\0WEBPVP8L", "image/webp"),
            (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "image/avif"),
            (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
        ] {
            let form = form("images", "image", "x").part("file", part(content));
            assert_eq!(files.upload(&user, form).await.ok()["info"]["contentType"], media_type);
        }
    }

    async fn checks_run_in_the_documented_order(backend) {
        let files = start(backend).await;
        let invalid = || form("pictures", "misc", "x").text("organisationId", "mart").part("file", part(b"x"));
        let reply = files.app.post("/v1/files").form(invalid()).send().await;
        assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"drover\"");
        assert_eq!(reply.error(401), "unauthenticated");
        // 400 for the form takes precedence over 403 for the organisation.
        assert_eq!(files.upload(&User::of("farm"), invalid()).await.errors(), ["bucket enum"]);
        let valid = form("files", "misc", "x").text("organisationId", "mart").part("file", part(b"x"));
        assert_eq!(files.upload(&User::of("farm"), valid).await.error(403), "forbidden");
        assert_eq!(files.stored().await.len(), 0);
        let key = files.app.post("/v1/files").by(&User::of("farm")).header("idempotency-key", "");
        let valid = form("files", "misc", "x").part("file", part(b"x"));
        assert_eq!(key.form(valid).send().await.errors(), ["Idempotency-Key length"]);
        let key = files.app.post("/v1/files").by(&User::of("farm")).header("idempotency-key", "");
        assert_eq!(key.form(invalid()).send().await.errors(), ["Idempotency-Key length", "bucket enum"]);
    }

    async fn head_requires_a_token_and_unknown_paths_are_refused(backend) {
        let files = start(backend).await;
        let id = files.make(&User::of("farm"), "image", PNG).await;
        for path in [format!("/v1/files/{id}"), format!("/v1/files/{id}/info")] {
            assert_eq!(files.app.call("HEAD", &path).send().await.status, 401, "{path}");
        }
        let user = User::of("farm");
        for (method, path) in [("GET", "/v1/files/7"), ("GET", "/v1/files/7/info"), ("DELETE", "/v1/files/7")] {
            let reply = files.app.call(method, path).by(&user).send().await;
            assert_eq!(reply.error(404), "not_found", "{method} {path}");
        }
        assert_eq!(files.app.call("PUT", "/v1/files").by(&user).send().await.error(405), "method_not_allowed");
    }
}
