//! Images that every caller may download have no positions, XMP and IPTC data.

use serde_json::json;
use system::Settings;
use testkit::User;

use super::image_samples::{has, jpeg, jpeg_with_position, size};
use super::{Files, form, hash, id, on_all, part, start, start_with};

const SECRET: &[u8] = b"SECRET-POSITION";

/// Uploads a file shared with these organisations. Returns its id.
async fn upload(files: &Files, user: &User, kind: &str, organisations: &str, content: &[u8]) -> String {
    let form = form("files", kind, "a.jpg").text("organisations", organisations.to_owned());
    let record = files.upload(user, form.part("file", part(content))).await.ok();
    id(&record)
}

/// Asserts that the content has no position, and that hash and size are its own.
async fn assert_stripped(files: &Files, user: &User, file: &str, is_stripped: bool) {
    let content = files.get(user, file).await;
    assert_eq!(has(&content.bytes, SECRET), !is_stripped);
    assert_eq!(files.info(user, file).await.ok()["hash"], format!("sha256:{}", hash(&content.bytes)));
    assert_eq!(content.header("etag"), format!("\"{}\"", hash(&content.bytes)));
    assert_eq!(content.header("content-length"), content.bytes.len().to_string());
}

/// Returns true if the store has the content with a position.
async fn store_has_secret(files: &Files) -> bool {
    let hash = hash(&jpeg_with_position(64, 32, 6));
    let stored = files.stored().await;
    stored.iter().any(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&hash))
}

on_all! {
    async fn uploads_for_everybody_are_stripped(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let content = jpeg_with_position(64, 32, 6);
        for (kind, organisations, is_stripped) in [
            ("image", "", true), ("avatar", "", true), ("contract", "*", true), ("misc", "a,*", true),
            ("contract", "", false), ("misc", "a,b", false),
        ] {
            let file = upload(&files, &farm, kind, organisations, &content).await;
            assert_stripped(&files, &farm, &file, is_stripped).await;
            let copy = files.app.get(&format!("/v1/files/{file}?width=160")).by(&farm).header("Accept", "image/webp");
            let copy = copy.send().await;
            let size = size("image/webp", &copy.bytes);
            assert_eq!(size, (32, 64), "the orientation stays");
        }
        // Content without metadata keeps its bytes.
        let plain = jpeg(64, 32, true);
        let file = upload(&files, &farm, "image", "", &plain).await;
        assert_eq!(files.get(&farm, &file).await.bytes, plain);
    }

    /// A manifest of content credentials with a position, in application data that is not known otherwise.
    async fn manifests_and_comments_are_stripped(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let manifest = include_bytes!("samples/c2pa-gps.jpg");
        let image = jpeg(64, 32, false);
        let with_comment = [&image[..2], b"\xff\xfe\0\x0dAnn's house", &image[2..]].concat();
        let first = upload(&files, &farm, "avatar", "", manifest).await;
        let stored = files.get(&farm, &first).await.bytes;
        assert!(has(manifest, b"c2pa") && !has(&stored, b"c2pa") && !has(&stored, b"jumb"));
        assert_eq!(stored.len(), manifest.len() - 161, "only the segment is removed");
        let second = upload(&files, &farm, "misc", "*", &with_comment).await;
        assert_eq!(files.get(&farm, &second).await.bytes, image);
    }

    /// Their metadata is not known, so nobody gets a link without a token, and browsers do not show them.
    async fn other_formats_get_no_public_link(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let tiff = [&b"II*\0\x08\0\0\0\0\0\0\0\0\0"[..], SECRET].concat();
        let image_file = [&b"\0\0\0\x18ftypmif1\0\0\0\0mif1miaf"[..], SECRET].concat();
        let known = upload(&files, &farm, "misc", "*", &jpeg(64, 32, false)).await;
        for (content, declared) in [(&tiff, "image/tiff"), (&image_file, "image/heif"), (&image_file, "image/heic")] {
            let image = part(content).mime_str(declared).unwrap();
            let image_form = form("files", "image", "a").text("organisations", "*").part("file", image);
            let file = id(&files.upload(&farm, image_form).await.ok());
            let path = format!("/v1/public/images/links?ids={file},{known}");
            let links = files.app.get(&path).send().await.ok();
            assert_eq!(links.as_array().unwrap().len(), 1, "{declared}: {links}");
            assert_eq!(links[0]["id"], known);
            let response = files.get(&farm, &file).await;
            assert!(response.header("content-disposition").starts_with("attachment"), "{declared}");
            assert_eq!(response.bytes, *content);
        }
    }

    async fn an_upload_can_be_repeated(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let content = jpeg_with_position(64, 32, 6);
        let send = async || {
            let form = form("images", "image", "a.jpg").part("file", part(&content)).part("file", part(&content));
            files.app.post("/v1/files").by(&user).header("Idempotency-Key", "k").form(form).send().await
        };
        let first = send().await.ok();
        let again = send().await;
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!(again.ok(), first);
        assert_eq!(first["info"]["hash"], first["additional"][0]["info"]["hash"]);
        assert!(!store_has_secret(&files).await);
    }

    async fn sharing_with_everybody_strips(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let content = jpeg_with_position(64, 32, 6);
        let (file, twin) = (
            upload(&files, &farm, "misc", "", &content).await, upload(&files, &farm, "misc", "", &content).await,
        );
        files.app.get(&format!("/v1/files/{file}?width=160")).by(&farm).send().await;
        files.resolve(&farm, json!({"ids": [file], "shareWith": ["hauliers"]})).await.ok();
        assert_stripped(&files, &farm, &file, false).await;
        let shared = files.resolve(&farm, json!({"ids": [file], "shareWith": ["*"]})).await.ok();
        assert_stripped(&files, &farm, &file, true).await;
        assert_eq!(shared[0]["hash"], files.info(&farm, &file).await.ok()["hash"]);
        assert_stripped(&files, &farm, &twin, false).await;
        assert!(store_has_secret(&files).await, "another file has the content");
        files.resolve(&farm, json!({"ids": [twin, file], "shareWith": ["*"]})).await.ok();
        assert_stripped(&files, &farm, &twin, true).await;
        assert!(!store_has_secret(&files).await, "no file has the content any more");
        assert_eq!(files.stored().await.len(), 1, "{:?}", files.stored().await);
        // The same content can be uploaded again.
        let again = upload(&files, &farm, "misc", "", &content).await;
        assert_eq!(files.get(&farm, &again).await.bytes, content);
    }

    async fn stripping_can_be_switched_off(storage) {
        let files = start_with(storage, Settings { strip_metadata: false, ..Settings::default() }).await;
        let farm = User::of("farm");
        let content = jpeg_with_position(64, 32, 6);
        let file = upload(&files, &farm, "image", "", &content).await;
        assert_eq!(files.get(&farm, &file).await.bytes, content);
        let file = upload(&files, &farm, "misc", "", &content).await;
        files.resolve(&farm, json!({"ids": [file], "shareWith": "*"})).await.ok();
        assert_eq!(files.get(&farm, &file).await.bytes, content);
    }
}

testkit::on_both! {
    /// Uploads of a content that is being replaced fail with 503 or store it again. Afterwards every file has its
    /// content.
    async fn uploads_and_replaced_contents_do_not_interfere(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let content = jpeg_with_position(64, 32, 6);
        for _ in 0..12 {
            let file = upload(&files, &farm, "misc", "", &content).await;
            let share = files.resolve(&farm, json!({"ids": [file], "shareWith": ["*"]}));
            let send = async || {
                let twin = form("files", "misc", "a.jpg").part("file", part(&content));
                files.upload(&farm, twin).await
            };
            let (shared, a, b) = tokio::join!(share, send(), send());
            shared.ok();
            for upload in [a, b] {
                assert!(matches!(upload.status, 200 | 503), "{}", upload.text());
                if upload.status == 200 {
                    let other = id(&upload.json());
                    assert_eq!(files.get(&farm, &other).await.bytes, content);
                    files.resolve(&farm, json!({"ids": [other], "shareWith": ["*"]})).await.ok();
                    assert_stripped(&files, &farm, &other, true).await;
                }
            }
            assert_stripped(&files, &farm, &file, true).await;
        }
    }
}
