//! Uploads that exceed a limit are refused and store nothing.

use std::io::Write;
use std::net::TcpStream;

use system::Settings;
use testkit::User;

use super::{PNG, encode, form, noise, on_all, part, start, start_with};

on_all! {
    async fn refuses_parts_over_the_size_limit(storage) {
        let files = start_with(storage, Settings { file_bytes: 100_000, ..Settings::default() }).await;
        let user = User::of("farm");
        let fits = form("files", "misc", "x").part("file", part(&noise(100_000)));
        assert_eq!(files.upload(&user, fits).await.status, 200);
        assert_eq!(files.stored().await.len(), 1);
        let second = form("files", "misc", "x").part("file", part(PNG)).part("file", part(&noise(100_001)));
        assert_eq!(files.upload(&user, second).await.error(413), "payload_too_large");
        assert_eq!(files.stored().await.len(), 1);
        let ignored = form("files", "misc", "x").part("file", part(PNG)).part("else", part(&noise(100_001)));
        assert_eq!(files.upload(&user, ignored).await.error(413), "payload_too_large");
        assert_eq!(files.stored().await.len(), 1);
    }

    async fn refuses_files_over_25_mib_by_default(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let mib = 25 << 20;
        let content = noise(mib + 1);
        let over = form("files", "misc", "x").part("file", part(&content));
        assert_eq!(files.upload(&user, over).await.error(413), "payload_too_large");
        assert_eq!(files.stored().await.len(), 0);
        let fits = files.make(&user, "misc", &content[..mib]).await;
        assert!(files.get(&user, &fits).await.bytes == content[..mib]);
    }

    async fn refuses_more_than_ten_parts_by_default(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let parts = |n| (0..n).fold(form("files", "misc", "x"), |form, i| form.part("file", part(&[i])));
        let reply = files.upload(&user, parts(11)).await;
        assert_eq!(reply.json()["validation"][0]["data"]["maximum"], 10);
        assert_eq!(reply.json()["message"], "file must be given at most 10 times.");
        assert_eq!(reply.errors(), ["file length"]);
        assert_eq!(files.stored().await.len(), 0);
        let ten = files.upload(&user, parts(10)).await.ok();
        assert_eq!(ten["additional"].as_array().unwrap().len(), 9);
        assert_eq!(files.stored().await.len(), 10);
    }

    async fn refuses_text_fields_over_the_limits(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let long = form("files", "misc", &"x".repeat(65_537)).part("file", part(PNG));
        assert_eq!(files.upload(&user, long).await.error(413), "payload_too_large");
        let list = "a,".repeat(32_000);
        let many = (0..17).fold(form("files", "misc", "x"), |form, _| form.text("organisations", list.clone()));
        assert_eq!(files.upload(&user, many).await.error(413), "payload_too_large");
        let many = (0..1001).fold(form("files", "misc", "x"), |form, _| form.text("other", "x"));
        assert_eq!(files.upload(&user, many).await.errors(), [" length"]);
        let names: Vec<_> = (0..201).map(|i| format!("org-{i}")).collect();
        let shared = |names: &[String]| {
            form("files", "misc", "x").text("organisations", names.join(",")).part("file", part(PNG))
        };
        let many = files.upload(&user, shared(&names)).await;
        assert_eq!(many.json()["validation"][0]["data"]["maximum"], 200);
        assert_eq!(many.errors(), ["organisations length"]);
        assert_eq!(files.stored().await.len(), 0);
        let fits = files.upload(&user, shared(&names[..200])).await.ok();
        assert_eq!(fits["info"]["organisations"], serde_json::json!(names[..200]));
    }

    async fn responds_with_errors_while_the_client_sends(storage) {
        let files = start(storage).await;
        let content = noise(25 << 20);
        let form = || form("files", "misc", "x").part("file", part(&content));
        assert_eq!(files.app.post("/v1/files").form(form()).send().await.error(401), "unauthenticated");
        let call = files.app.post("/v1/files").by(&User::of("farm"));
        let reply = call.body("application/octet-stream", content.clone()).send().await;
        assert_eq!(reply.error(415), "unsupported_media_type");
        assert_eq!(files.stored().await.len(), 0);
    }
}

testkit::on_both! {
    async fn disconnect_removes_staged_content(backend) {
        let files = start(backend).await;
        let body = encode("x", &[("name=\"file\"", &noise(3 << 20))]);
        let head = format!(
            "POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\
             Content-Type: multipart/form-data; boundary=x\r\n\r\n",
            User::of("farm").token(),
            body.len()
        );
        let mut client = TcpStream::connect(files.app.url.strip_prefix("http://").unwrap()).unwrap();
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(&body[..2 << 20]).unwrap();
        files.wait_for_stored(1).await;
        drop(client);
        files.wait_for_stored(0).await;
    }
}
