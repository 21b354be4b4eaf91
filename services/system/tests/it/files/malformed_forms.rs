//! Bodies that are not complete forms.

use testkit::{TestResponse, User};

use super::{Files, encode, start};

const TYPE: &str = "multipart/form-data; boundary=x";

async fn send(files: &Files, content_type: &str, body: Vec<u8>) -> TestResponse {
    files.app.post("/v1/files").by(&User::of("farm")).body(content_type, body).send().await
}

fn complete_form() -> Vec<u8> {
    encode(
        "x",
        &[
            ("name=\"bucket\"", b"files"),
            ("name=\"type\"", b"misc"),
            ("name=\"file\"; filename=\"a\"", b"content"),
            ("name=\"name\"", b"a name"),
        ],
    )
}

testkit::on_both! {
    async fn rejects_forms_truncated_at_any_position(backend) {
        let files = start(backend).await;
        let body = complete_form();
        assert_eq!(send(&files, TYPE, body.clone()).await.status, 200);
        assert_eq!(send(&files, TYPE, body[..body.len() - 2].to_vec()).await.status, 200);
        for cut in (0..body.len() - 4).step_by(7).chain([body.len() - 3, body.len() - 4]) {
            let reply = send(&files, TYPE, body[..cut].to_vec()).await;
            assert_eq!(reply.error(400), "malformed_body", "cut at {cut}");
        }
        assert_eq!(files.stored().await.len(), 1);
    }

    async fn rejects_bodies_that_are_not_forms(backend) {
        let files = start(backend).await;
        let encoded = |parts: &[(&str, &[u8])]| encode("x", parts);
        for (content_type, body) in [
            ("multipart/form-data", complete_form()),
            ("multipart/form-data; boundary=", complete_form()),
            ("multipart/form-data; boundary=other", complete_form()),
            (TYPE, b"garbage".to_vec()),
            (TYPE, vec![b'-'; 200_000]),
            (TYPE, encoded(&[("name=\"name\"", b"\xff\xfe")])),
            (TYPE, encoded(&[("filename=\"a\"", b"no name")])),
            (TYPE, b"--x\r\nno header\r\n\r\nx\r\n--x--\r\n".to_vec()),
        ] {
            let start = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            let reply = send(&files, content_type, body).await;
            assert_eq!(reply.error(400), "malformed_body", "{content_type} {start}");
        }
        assert_eq!(files.stored().await.len(), 0);
    }

    async fn rejects_other_content_types(backend) {
        let files = start(backend).await;
        for content_type in ["application/json", "multipart/mixed; boundary=x", "text/plain"] {
            let reply = send(&files, content_type, complete_form()).await;
            assert_eq!(reply.error(415), "unsupported_media_type", "{content_type}");
        }
        let none = files.app.post("/v1/files").by(&User::of("farm")).send().await;
        assert_eq!(none.error(415), "unsupported_media_type");
        let call = files.app.post("/v1/files").by(&User::of("farm")).header("content-encoding", "gzip");
        assert_eq!(call.body(TYPE, complete_form()).send().await.error(415), "unsupported_media_type");
        assert_eq!(send(&files, "Multipart/Form-Data; Boundary=\"x\"", complete_form()).await.status, 200);
    }
}
