//! Smaller copies of images.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use system::Settings;
use testkit::{TestResponse, User};

use super::image_samples::{checkered, has, jpeg, jpeg_with_position, jpeg_with_scans, png, size};
use super::store_fixture::StoreFixture;
use super::{Files, PDF, PNG, form, hash, id, on_all, part, start, start_with};

/// Uploads an image. Returns its id.
async fn upload(files: &Files, user: &User, content: &[u8]) -> String {
    let form = form("images", "image", "Cow 7.original.jpg").part("file", part(content));
    id(&files.upload(user, form).await.ok())
}

/// Downloads a copy.
async fn copy(files: &Files, user: &User, id: &str, width: u32, accept: &str) -> TestResponse {
    let path = format!("/v1/files/{id}?width={width}");
    files.app.get(&path).by(user).header("Accept", accept).send().await
}

/// Returns the names of the copies in the store, sorted, without the name of their content.
async fn stored_copies(files: &Files) -> Vec<String> {
    let names = files.stored().await.into_iter();
    let names = names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    let mut copies: Vec<_> =
        names.filter_map(|name| name.split_once('.').map(|(_, copy)| copy.to_owned())).collect();
    copies.sort();
    copies
}

on_all! {
    async fn copies_have_the_width_and_type_that_the_client_accepts(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let opaque = upload(&files, &farm, &jpeg(700, 420, false)).await;
        let transparent = upload(&files, &farm, &png(700, 420, true)).await;
        for (file, accept, media_type) in [
            (&opaque, "image/webp,*/*;q=0.8", "image/webp"),
            (&opaque, "*/*", "image/webp"),
            (&opaque, "image/jpeg", "image/jpeg"),
            (&opaque, "image/*,image/webp;q=0", "image/jpeg"),
            (&transparent, "image/avif,image/webp", "image/webp"),
            (&transparent, "image/png", "image/png"),
        ] {
            for (width, expected) in [(160, (160, 96)), (320, (320, 192)), (640, (640, 384)), (1280, (700, 420))] {
                let response = copy(&files, &farm, file, width, accept).await;
                assert_eq!(response.status, 200, "{}", response.text());
                assert_eq!(response.header("content-type"), media_type, "{accept}");
                assert_eq!(size(media_type, &response.bytes), expected);
                assert_eq!(response.header("vary"), "Accept");
                let ending = media_type.rsplit('/').next().unwrap();
                let name = format!("filename=\"Cow 7.original.{ending}\"");
                // The original keeps its name, if a copy with all of its pixels would not be smaller.
                let has_name = response.header("content-disposition").contains(&name);
                assert!(has_name || width == 1280, "{:?}", response.headers);
            }
        }
        // Other content ignores the width, and so does an image that cannot be decoded.
        let text = files.make(&farm, "misc", PDF).await;
        let broken = upload(&files, &farm, PNG).await;
        for (file, content) in [(&text, PDF), (&broken, PNG)] {
            for _ in 0..2 {
                let response = copy(&files, &farm, file, 160, "*/*").await;
                assert_eq!((response.status, &*response.bytes), (200, content));
                assert_eq!(response.header("etag"), format!("\"{}\"", hash(content)));
            }
        }
        // An image with many scans can be decoded, one with thousands takes too long.
        let scans = upload(&files, &farm, &jpeg_with_scans(700, 420, 20)).await;
        assert_eq!(size("image/webp", &copy(&files, &farm, &scans, 160, "*/*").await.bytes), (160, 96));
        let content = jpeg_with_scans(700, 420, 2_000);
        let slow = upload(&files, &farm, &content).await;
        assert_eq!(copy(&files, &farm, &slow, 160, "*/*").await.bytes, content);
        for width in ["100", "0", "-160", "161", "99999999999"] {
            let path = format!("/v1/files/{opaque}?width={width}");
            assert_eq!(files.app.get(&path).by(&farm).send().await.errors(), ["width enum"]);
        }
    }

    async fn copies_can_be_requested_conditionally_and_in_parts(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let file = upload(&files, &farm, &jpeg(700, 420, true)).await;
        let made = copy(&files, &farm, &file, 320, "image/webp").await;
        let stored = copy(&files, &farm, &file, 320, "image/webp").await;
        assert_eq!((made.status, &made.bytes), (200, &stored.bytes));
        assert_eq!(made.headers.get("etag"), stored.headers.get("etag"));
        let path = format!("/v1/files/{file}?width=320");
        let request = || files.app.get(&path).by(&farm).header("Accept", "image/webp");
        let etag = made.header("etag");
        let known = request().header("If-None-Match", etag).send().await;
        assert_eq!((known.status, known.header("vary")), (304, "Accept"));
        let range = request().header("Range", "bytes=4-9").header("If-Range", etag).send().await;
        assert_eq!((range.status, &*range.bytes), (206, &made.bytes[4..10]));
        assert_eq!(range.header("content-range"), format!("bytes 4-9/{}", made.bytes.len()));
        let etags = [
            copy(&files, &farm, &file, 320, "image/jpeg").await.header("etag").to_owned(),
            copy(&files, &farm, &file, 640, "image/webp").await.header("etag").to_owned(),
            files.get(&farm, &file).await.header("etag").to_owned(),
        ];
        assert!(!etags.contains(&etag.to_owned()), "{etags:?}");
        let head = files.app.call("HEAD", &path).by(&farm).header("Accept", "image/webp").send().await;
        assert_eq!(head.header("content-length"), made.bytes.len().to_string());
    }

    async fn copies_are_upright_and_have_no_metadata(storage) {
        let files = start_with(storage, Settings { strip_metadata: false, ..Settings::default() }).await;
        let farm = User::of("farm");
        let content = jpeg_with_position(600, 300, 6);
        let file = upload(&files, &farm, &content).await;
        assert!(has(&files.get(&farm, &file).await.bytes, b"SECRET-POSITION"), "stripping is off");
        for (accept, media_type) in [("image/webp", "image/webp"), ("image/jpeg", "image/jpeg")] {
            let response = copy(&files, &farm, &file, 160, accept).await;
            assert_eq!(size(media_type, &response.bytes), (160, 320));
            for text in [&b"SECRET-POSITION"[..], b"Exif", b"EXIF"] {
                assert!(!has(&response.bytes, text));
            }
        }
    }

    async fn a_link_can_name_a_width(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let file = upload(&files, &farm, &jpeg(700, 420, false)).await;
        let body = json!({"width": 320});
        let link = files.app.post(&format!("/v1/files/{file}/link")).by(&farm).json(&body).send().await.ok();
        let url = link["url"].as_str().unwrap();
        let path = &url[url.find("/v1/public").unwrap()..];
        let response = files.app.get(path).header("Accept", "image/webp").send().await;
        assert_eq!(size("image/webp", &response.bytes), (320, 192));
        assert_eq!(response.header("vary"), "Accept");
        assert!(response.header("cache-control").starts_with("private, max-age="));
        for changed in [path.replace("width=320", "width=640"), path.replace("width=320&", "")] {
            assert_eq!(files.app.get(&changed).send().await.error(403), "forbidden");
        }
    }

    async fn copies_are_made_once_and_removed_with_their_content(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let content = jpeg(700, 420, false);
        let (file, twin) = (upload(&files, &farm, &content).await, upload(&files, &farm, &content).await);
        let requests = (0..8).map(|n| copy(&files, &farm, if n % 2 == 0 { &file } else { &twin }, 160, "image/webp"));
        let responses = join_all(requests).await;
        assert!(responses.iter().all(|response| response.bytes == responses[0].bytes && response.status == 200));
        copy(&files, &farm, &file, 640, "image/jpeg").await;
        assert_eq!(stored_copies(&files).await, ["160.webp", "640.jpeg"]);
        files.archive(&farm, &twin).await.ok();
        assert_eq!(stored_copies(&files).await.len(), 2, "the other file has the same content");
        files.archive(&farm, &file).await.ok();
        assert_eq!(stored_copies(&files).await, [""; 0]);
        // An administrator may still see archived images. Their copies are not kept.
        let admin = User::admin();
        assert_eq!(copy(&files, &admin, &file, 160, "image/webp").await.status, 200);
        assert_eq!(stored_copies(&files).await, [""; 0]);
        assert_eq!(copy(&files, &farm, &file, 160, "image/webp").await.status, 404);
    }

    /// As browsers show it: of an image that was cut off, what is there.
    async fn images_without_an_end_have_copies(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let whole = jpeg(700, 420, false);
        let cut = &whole[..whole.len() * 9 / 10];
        for content in [include_bytes!("samples/jpeg-without-eoi.jpg"), &whole[..whole.len() - 2], cut] {
            let file = upload(&files, &farm, content).await;
            for (accept, media_type) in [("*/*", "image/webp"), ("image/jpeg", "image/jpeg")] {
                let response = copy(&files, &farm, &file, 160, accept).await;
                assert_eq!(response.header("content-type"), media_type);
                assert_eq!(size(media_type, &response.bytes).0, 160);
            }
            assert_eq!(files.get(&farm, &file).await.bytes, content);
        }
    }

    /// Nothing is stored that is larger than what was uploaded.
    async fn copies_that_are_larger_than_the_original_are_not_kept(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let squares = checkered(160, 80);
        let file = upload(&files, &farm, &squares).await;
        for _ in 0..2 {
            let original = copy(&files, &farm, &file, 160, "*/*").await;
            assert_eq!(original.header("content-type"), "image/png");
            assert!(original.bytes == squares);
            assert_eq!(original.header("vary"), "Accept");
            // A client that does not show PNG gets a copy.
            let copy = copy(&files, &farm, &file, 160, "image/jpeg").await;
            assert_eq!((copy.header("content-type"), size("image/jpeg", &copy.bytes)), ("image/jpeg", (160, 80)));
        }
        // A copy of fewer pixels is sent although it is larger, but not kept: the original shows more than was asked
        // for.
        let reduced = copy(&files, &farm, &upload(&files, &farm, &checkered(1000, 400)).await, 320, "*/*").await;
        assert_eq!(size("image/webp", &reduced.bytes), (320, 128));
        assert_eq!(stored_copies(&files).await, [""; 0]);
        // An original with a position is not sent to a client that gets no copy with one.
        let private = form("files", "misc", "a.jpg").part("file", part(&jpeg_with_position(16, 8, 1)));
        let private = id(&files.upload(&farm, private).await.ok());
        for accept in ["*/*", "image/jpeg"] {
            assert!(!has(&copy(&files, &farm, &private, 160, accept).await.bytes, b"SECRET-POSITION"), "{accept}");
        }
    }

    async fn copies_fit_into_four_times_their_width(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let file = upload(&files, &farm, &png(100, 9000, false)).await;
        for (width, expected) in [(160, (7, 640)), (1280, (57, 5120))] {
            let response = copy(&files, &farm, &file, width, "image/webp").await;
            assert_eq!(size("image/webp", &response.bytes), expected);
        }
    }

    async fn large_images_are_refused(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let mut content = png(1, 1, false);
        // The header states 10,000 × 5,001 pixels.
        content[16..24].copy_from_slice(&[0, 0, 0x27, 0x10, 0, 0, 0x13, 0x89]);
        let checksum = crc32(&content[12..29]);
        content[29..33].copy_from_slice(&checksum.to_be_bytes());
        let file = upload(&files, &farm, &content).await;
        for _ in 0..2 {
            assert_eq!(copy(&files, &farm, &file, 160, "*/*").await.errors(), ["width range"]);
        }
        assert_eq!(files.get(&farm, &file).await.bytes, content, "the image itself can be downloaded");
    }
}

/// Returns the checksum of a PNG chunk.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// A copy whose content has no row, or only archived files, is an orphan.
#[test]
fn the_sweep_removes_orphaned_copies() {
    testkit::block_on(async {
        let files = start(testkit::Backend::Sqlite).await;
        let farm = User::of("farm");
        let file = upload(&files, &farm, &jpeg(700, 420, false)).await;
        copy(&files, &farm, &file, 160, "image/webp").await;
        let name = stored_content(&files).await;
        let orphan = format!("{}-0190f5fe-0000-7000-8000-000000000000.160.webp", hash(b"other"));
        files.store.put_orphan(&orphan, b"copy").await;
        files.store.put_orphan(&format!("{name}.320.webp"), b"copy").await;
        assert_eq!(stored_copies(&files).await.len(), 3);
        let settings = Settings { sweep_grace_seconds: 3600, ..files.settings.clone() };
        let replica = testkit::App::start_replica::<system::System>(&files.app, settings.clone()).await;
        for _ in 0..500 {
            if stored_copies(&files).await.len() == 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(stored_copies(&files).await, ["160.webp", "320.webp"], "only the orphan is removed");
        drop(replica);
        files.archive(&farm, &file).await.ok();
        files.store.put_orphan(&format!("{name}.320.webp"), b"copy").await;
        let _replica = testkit::App::start_replica::<system::System>(&files.app, settings).await;
        for _ in 0..500 {
            if stored_copies(&files).await.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(stored_copies(&files).await, [""; 0], "the file is archived");
        assert!(matches!(files.store, StoreFixture::Folder(_)));
        assert_eq!(files.stored().await.len(), 1, "its content stays");
    });
}

/// Returns the name of the only content in the store.
async fn stored_content(files: &Files) -> String {
    let names = files.stored().await.into_iter();
    let mut names = names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    names.find(|name| !name.contains('.')).unwrap()
}
