//! Successful uploads: responses and stored contents.

use serde_json::{Value, json};
use testkit::User;

use super::{PDF, PNG, encode, form, hash, id, on_all, part, start};

on_all! {
    async fn response_describes_the_file(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let form = form("images", "weighbridge", "Ticket 7").text("organisations", "haulier, mart,haulier");
        let record = files.upload(&user, form.text("organisations", "*").part("file", part(PNG))).await.ok();
        let id = id(&record);
        let mut info = json!({
            "bucket": "images",
            "type": "weighbridge",
            "organisationId": "farm",
            "name": "Ticket 7",
            "hash": format!("sha256:{}", hash(PNG)),
            "contentType": "image/png",
            "url": format!("{}/v1/files/{id}", files.app.url),
            "userId": "user-of-farm",
            "userName": "Name of user-of-farm",
            "organisations": ["haulier", "mart", "*"],
            "createdAtUTC": record["info"]["createdAtUTC"],
        });
        let expected = json!({
            "id": id, "tags": [], "info": info, "organisationId": "farm", "userId": "user-of-farm",
            "type": "weighbridge", "status": "active", "additional": [],
        });
        assert_eq!(record, expected);
        let created = info["createdAtUTC"].as_str().unwrap();
        assert!(created.len() == 24 && created.ends_with('Z'), "{created}");
        info["status"] = json!("active");
        assert_eq!(files.info(&user, &id).await.ok(), info);
        assert_eq!(files.get(&user, &id).await.bytes, PNG);
        let upper = id.to_uppercase();
        assert_eq!(files.info(&user, &upper).await.ok(), info);
    }

    async fn each_part_becomes_a_file(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let form = form("files", "misc", "the first")
            .part("file", part(PNG))
            .part("file", part(PDF).file_name("C:\\papers\\second.pdf"))
            .part("file", reqwest::multipart::Part::bytes(b"third".to_vec()));
        let record = files.upload(&user, form).await.ok();
        let additional = record["additional"].as_array().unwrap();
        assert_eq!(record["info"]["name"], "the first");
        let names: Vec<_> = additional.iter().map(|r| r["info"]["name"].clone()).collect();
        assert_eq!(names, ["second.pdf", "the first"]);
        assert!(additional.iter().all(|r| r.get("additional").is_none() && r["status"] == "active"));
        assert_eq!(files.get(&user, &id(&additional[0])).await.bytes, PDF);
        assert_eq!(files.get(&user, &id(&additional[1])).await.bytes, b"third");
    }

    async fn names_of_parts_are_read_as_clients_write_them(storage) {
        let files = start(storage).await;
        for (written, name) in [
            (r"C:\Scans\Bob\weighbridge 12.pdf", "weighbridge 12.pdf"),
            (r"\\server\share\a b.pdf", "a b.pdf"),
            ("12%22 tyre 100%25.jpg", "12\" tyre 100%25.jpg"),
            ("two%0D%0Alines.txt", "two lines.txt"),
            (r#"7\" pipe.jpg"#, "7\" pipe.jpg"),
            ("Stra\u{1}e.jpg", "Straße.jpg"),
            ("日本 ß.png", "日本 ß.png"),
        ] {
            let head = format!("name=\"file\"; filename=\"{written}\"");
            let mut body = encode("x", &[
                ("name=\"bucket\"", b"files"), ("name=\"type\"", b"misc"), ("name=\"name\"", b"first"),
                ("name=\"file\"; filename=\"f\"", b"first"), (&head, b"second"),
            ]);
            // A character in Windows-1252.
            for byte in body.iter_mut().filter(|byte| **byte == 1) {
                *byte = 0xdf;
            }
            let call = files.app.post("/v1/files").by(&User::of("farm"));
            let record = call.body("multipart/form-data; boundary=x", body).send().await.ok();
            assert_eq!(record["additional"][0]["info"]["name"], name, "{written}");
        }
        let unnamed = encode("x", &[("filename=\"f\"", b"first")]);
        let call = files.app.post("/v1/files").by(&User::of("farm"));
        assert_eq!(call.body("multipart/form-data; boundary=x", unnamed).send().await.error(400), "malformed_body");
    }

    async fn accepts_fields_in_any_order(storage) {
        let files = start(storage).await;
        let body = encode("x", &[
            ("name=\"file\"; filename=\"a.bin\"", b"content\r\n--y"),
            ("name=\"colour\"", b"ignored"),
            ("name=\"thumbnail\"; filename=\"t.png\"", PNG),
            ("name=\"name\"", b"a name"),
            ("name=\"type\"", b"misc"),
            ("name=\"bucket\"", b"files"),
        ]);
        let call = files.app.post("/v1/files").by(&User::of("farm"));
        let record = call.body("multipart/form-data; boundary=x", body).send().await.ok();
        assert_eq!(record["additional"], json!([]));
        assert_eq!(files.get(&User::of("farm"), &id(&record)).await.bytes, b"content\r\n--y");
    }

    async fn owner_is_the_organisation_of_the_caller(storage) {
        let files = start(storage).await;
        let upload = async |user: User, owner: &'static str| {
            let form = form("files", "misc", "x").text("organisationId", owner).part("file", part(b"x"));
            files.upload(&user, form).await
        };
        assert_eq!(upload(User::of("farm"), " farm ").await.ok()["organisationId"], "farm");
        assert_eq!(upload(User::of("farm"), " ").await.ok()["organisationId"], "farm");
        assert_eq!(upload(User::admin(), "mart").await.ok()["info"]["organisationId"], "mart");
        assert_eq!(upload(User::of("farm"), "mart").await.error(403), "forbidden");
        assert_eq!(upload(User::individual("ann"), "mart").await.error(403), "forbidden");
        let alone = upload(User::individual("ann"), "").await.ok();
        assert_eq!(alone.get("organisationId"), None);
        assert_eq!(alone["info"].get("organisationId"), None);
        assert_eq!(alone["userId"], "ann");
        let id = id(&alone);
        assert_eq!(files.info(&User::of("farm"), &id).await.error(403), "forbidden");
        assert_eq!(files.info(&User::individual("ann"), &id).await.status, 200);
    }

    async fn equal_content_is_stored_once(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let first = files.make(&user, "misc", b"same").await;
        let second = files.make(&user, "misc", b"same").await;
        assert_ne!(first, second);
        let stored = files.stored().await;
        assert_eq!(stored.len(), 1, "{stored:?}");
        let hash = hash(b"same");
        let path = stored[0].to_str().unwrap();
        assert!(path.contains(&format!("/{}/{hash}-", &hash[..2])), "{path}");
        let twice = form("files", "misc", "x").part("file", part(b"other")).part("file", part(b"other"));
        files.upload(&user, twice.part("file", part(b"same"))).await.ok();
        assert_eq!(files.stored().await.len(), 2);
        files.archive(&user, &first).await.ok();
        assert_eq!(files.get(&user, &second).await.bytes, b"same");
    }

    async fn keeps_the_last_component_of_names(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        for (sent, stored) in [
            ("../../etc/passwd", "passwd"),
            ("C:\\scans\\ticket \"7\".png ", "ticket \"7\".png"),
            ("Wägeschein 秤量 🐑; a=b.pdf", "Wägeschein 秤量 🐑; a=b.pdf"),
            ("%0d%0aSet-Cookie: a=b", "%0d%0aSet-Cookie: a=b"),
        ] {
            let record = files.upload(&user, form("files", "misc", sent).part("file", part(b"x"))).await.ok();
            assert_eq!(record["info"]["name"], stored);
            let reply = files.get(&user, &id(&record)).await;
            assert_eq!(reply.status, 200);
            assert!(reply.headers.get("set-cookie").is_none());
        }
    }

    async fn detects_the_content_type(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        for (content, declared, expected) in [
            (PNG, "text/html", "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "application/octet-stream", "image/jpeg"),
            (b"<!DOCTYPE html><script>alert(1)</script>", "image/png", "text/html"),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "image/svg+xml"),
            (b"alert(1)", "application/pdf", "application/octet-stream"),
            (b"BM;1\nGIF;2\n", "text/csv; charset=utf-8", "text/csv; charset=utf-8"),
        ] {
            let part = part(content).mime_str(declared).unwrap();
            let record = files.upload(&user, form("files", "misc", "x").part("file", part)).await.ok();
            assert_eq!(record["info"]["contentType"], expected, "{declared}");
            let reply = files.get(&user, &id(&record)).await;
            assert_eq!(reply.header("content-type"), expected);
            let disposition = if expected.starts_with("image/") && expected != "image/svg+xml" { "inline" } else { "attachment" };
            assert!(reply.header("content-disposition").starts_with(disposition), "{expected}");
        }
    }
}

#[test]
fn openapi_document_describes_the_form() {
    let document = common::openapi::<system::System>().unwrap();
    let upload = &document["paths"]["/v1/files"]["post"];
    assert_eq!(upload["summary"], "Upload a file");
    assert!(upload["requestBody"]["content"]["multipart/form-data"].is_object(), "{upload}");
    let form = &document["components"]["schemas"]["FileUploadForm"];
    let mut required: Vec<_> = form["required"].as_array().unwrap().iter().map(Value::to_string).collect();
    required.sort();
    assert_eq!(required, ["\"bucket\"", "\"file\"", "\"name\"", "\"type\""]);
    assert_eq!(document["components"]["schemas"]["FileType"]["enum"].as_array().unwrap().len(), 10);
}
