//! Normalization of the text fields of uploads, and the header `Vary`.

use reqwest::multipart::Part;
use testkit::User;

use super::{PNG, form, id, on_all, part, start};

on_all! {
    async fn trims_names_and_ids_and_normalizes_them_to_nfc(storage) {
        let files = start(storage).await;
        let user = User::of("f\u{e9}rme");
        let form = form(" images ", "weighbridge", "\u{a0} Cafe\u{301}.png ")
            .text("organisationId", " fe\u{301}rme\u{a0}")
            .text("organisations", " haulie\u{301}r ,\u{2003}mart")
            .part("file", part(PNG))
            .part("file", Part::bytes(PNG.to_vec()).file_name(" e\u{301}.png"));
        let record = files.upload(&user, form).await.ok();
        assert_eq!(record["info"]["name"], "Caf\u{e9}.png");
        assert_eq!(record["organisationId"], "f\u{e9}rme");
        assert_eq!(record["info"]["organisations"], serde_json::json!(["hauli\u{e9}r", "mart"]));
        assert_eq!(record["additional"][0]["info"]["name"], "\u{e9}.png");
    }

    async fn rejects_invisible_characters_in_ids_and_changes_of_direction(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        for c in ['\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}'] {
            let form = form("files", "misc", &format!("a{c}b"))
                .text("organisationId", format!("farm{c}"))
                .text("organisations", format!("haulier,mart{c}"))
                .part("file", part(PNG))
                .part("file", Part::bytes(PNG.to_vec()).file_name(format!("a{c}.png")));
            let errors = files.upload(&user, form).await.errors();
            let names = ["file format", "name format"].into_iter().filter(|_| ['\u{202e}', '\u{2066}'].contains(&c));
            let expected: Vec<_> = names.chain(["organisationId format", "organisations format"]).collect();
            assert_eq!(errors, expected, "{c:?}");
        }
    }

    async fn only_downloads_do_not_vary_by_accept_encoding(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let form = form("files", "misc", "a.txt").part("file", part(&[b'a'; 5000]));
        let id = id(&files.upload(&user, form).await.ok());
        let path = format!("/v1/files/{id}");
        for (method, name, value, status) in [
            ("GET", "accept-encoding", "gzip", 200),
            ("HEAD", "accept-encoding", "gzip", 200),
            ("GET", "range", "bytes=0-9", 206),
            ("GET", "if-none-match", "*", 304),
        ] {
            let reply = files.app.call(method, &path).by(&user).header(name, value).send().await;
            assert_eq!((reply.status, reply.header("vary")), (status, "Accept"), "{method} {name}");
            assert_eq!(reply.header("content-encoding"), "", "{method} {name}");
        }
        for path in [format!("{path}/info"), "/v1/countries".into(), "/v1/public/countries".into(), "/openapi.json".into()] {
            for coding in ["gzip", "identity"] {
                let reply = files.app.get(&path).by(&user).header("accept-encoding", coding).send().await;
                assert_eq!((reply.status, reply.header("vary").to_lowercase()), (200, "accept-encoding".into()), "{path} {coding}");
            }
        }
    }
}
