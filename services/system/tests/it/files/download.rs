//! Downloads: headers and conditional requests.

use testkit::User;

use super::{PDF, PNG, form, id, noise, on_all, part, start};

on_all! {
    async fn images_are_inline(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let name = "Wägeschein \"7\"; 100%.png";
        let record = files.upload(&user, form("images", "image", name).part("file", part(PNG))).await.ok();
        let reply = files.get(&user, &id(&record)).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.bytes, PNG);
        let hex = record["info"]["hash"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
        for (header, value) in [
            ("content-type", "image/png"),
            ("content-length", &PNG.len().to_string()),
            ("etag", &format!("\"{hex}\"")),
            ("accept-ranges", "bytes"),
            ("cache-control", "private, no-cache"),
            ("content-security-policy", "sandbox"),
            ("x-content-type-options", "nosniff"),
            (
                "content-disposition",
                "inline; filename=\"W_geschein _7_; 100_.png\"; \
                 filename*=UTF-8''W%C3%A4geschein%20%227%22%3B%20100%25.png",
            ),
        ] {
            assert_eq!(reply.header(header), value, "{header}");
        }
        assert!(reply.header("last-modified").ends_with(" GMT"));
    }

    async fn pdfs_are_inline_without_sandbox_and_other_types_are_attachments(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let pdf = files.get(&user, &files.make(&user, "misc", PDF).await).await;
        assert_eq!(pdf.header("content-type"), "application/pdf");
        assert_eq!(pdf.header("content-disposition"), "inline; filename=\"a name\"; filename*=UTF-8''a%20name");
        assert!(pdf.headers.get("content-security-policy").is_none());
        let text = files.get(&user, &files.make(&user, "misc", b"<html><script>").await).await;
        assert_eq!(text.header("content-type"), "text/html");
        assert!(text.header("content-disposition").starts_with("attachment; "));
        assert_eq!(text.header("content-security-policy"), "sandbox");
    }

    async fn head_has_the_headers_of_get(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        for content in [PNG.to_vec(), noise(700_000)] {
            let id = files.make(&user, "misc", &content).await;
            let get = files.get(&user, &id).await;
            let head = files.app.call("HEAD", &format!("/v1/files/{id}")).by(&user).send().await;
            assert_eq!(head.status, 200);
            assert_eq!(head.bytes, b"");
            for header in ["content-length", "etag", "content-type", "last-modified", "content-disposition"] {
                assert_eq!(head.header(header), get.header(header), "{header}");
            }
            assert_eq!(head.header("content-length"), content.len().to_string());
        }
    }

    async fn current_copies_are_not_modified(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let id = files.make(&user, "misc", PNG).await;
        let first = files.get(&user, &id).await;
        let (tag, modified) = (first.header("etag"), first.header("last-modified"));
        let get = async |headers: &[(&str, &str)]| {
            let call = files.app.get(&format!("/v1/files/{id}")).by(&user);
            headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send().await
        };
        let old = "Mon, 01 Jan 2024 00:00:00 GMT";
        for headers in [
            &[("if-none-match", tag)][..],
            &[("if-none-match", "*")],
            &[("if-none-match", &format!("\"other\", W/{tag}"))],
            &[("if-none-match", tag), ("if-modified-since", old)],
            &[("if-modified-since", modified)],
            &[("if-none-match", tag), ("range", "bytes=0-1")],
        ] {
            let reply = get(headers).await;
            assert_eq!(reply.status, 304, "{headers:?}");
            assert_eq!(reply.header("etag"), tag);
            assert_eq!(reply.header("cache-control"), "private, no-cache");
            assert!(reply.bytes.is_empty());
        }
        for headers in [
            &[("if-none-match", "\"other\"")][..],
            &[("if-none-match", "\"other\""), ("if-modified-since", modified)],
            &[("if-modified-since", old)],
            &[("if-modified-since", "yesterday")],
        ] {
            assert_eq!(get(headers).await.status, 200, "{headers:?}");
        }
    }

    async fn accept_and_accept_encoding_do_not_change_content(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let text = "a line of text\n".repeat(50_000);
        let id = files.make(&user, "misc", text.as_bytes()).await;
        for accept in ["application/pdf", "text/html", "image/*;q=0.5"] {
            let call = files.app.get(&format!("/v1/files/{id}")).by(&user).header("accept", accept);
            let reply = call.header("accept-encoding", "gzip, br, zstd").send().await;
            assert_eq!(reply.status, 200);
            assert_eq!(reply.header("content-length"), text.len().to_string());
            assert!(reply.text() == text);
        }
        let call = files.app.get(&format!("/v1/files/{id}/info")).by(&user).header("accept", "text/html");
        assert_eq!(call.send().await.error(406), "not_acceptable");
    }

    async fn missing_content_is_internal_error(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let id = files.make(&user, "misc", PNG).await;
        files.store.remove(&files.stored().await[0]).await;
        assert_eq!(files.get(&user, &id).await.error(500), "internal");
        assert_eq!(files.info(&user, &id).await.status, 200);
    }
}
