//! Sharing images with everybody stores contents without metadata only for files that become public.

use std::time::Duration;

use serde_json::json;
use testkit::User;

use super::image_samples::{has, jpeg, jpeg_with_position};
use super::{Files, Storage, form, id, on_all, part, start};

const SECRET: &[u8] = b"SECRET-POSITION";
const UNKNOWN: &str = "0198c0de-0000-7000-8000-000000000000";

/// Uploads a private image with a position, different for each number. Returns its id.
async fn upload(files: &Files, user: &User, number: u16) -> String {
    let form = form("files", "misc", "a.jpg").part("file", part(&jpeg_with_position(64 + number, 32, 6)));
    id(&files.upload(user, form).await.ok())
}

async fn is_public(files: &Files, file: &str) -> bool {
    let organisations = files.info(&User::admin(), file).await.ok()["organisations"].clone();
    organisations.as_array().unwrap().contains(&json!("*"))
}

/// Asserts that the store has the contents of these files and nothing else, and that `contents` has their rows.
async fn assert_no_orphans(files: &Files, user: &User, ids: &[&String]) {
    assert_eq!(files.stored().await.len(), ids.len(), "{:?}", files.stored().await);
    for file in ids {
        let content = files.get(user, file).await;
        assert_eq!(has(&content.bytes, SECRET), !is_public(files, file).await);
    }
}

on_all! {
    async fn calls_that_share_nothing_store_nothing(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let (a, b) = (upload(&files, &farm, 0).await, upload(&files, &farm, 8).await);
        let share = json!({"ids": [a, b], "shareWith": ["*"]});
        // Not all files are found.
        let nothing = json!({"ids": [a, b, UNKNOWN], "shareWith": ["*"], "allOrNothing": true});
        files.resolve(&farm, nothing).await.ok();
        assert_no_orphans(&files, &farm, &[&a, &b]).await;
        // The files are of another organisation.
        files.resolve(&User::of("mart"), share.clone()).await.ok();
        assert_no_orphans(&files, &farm, &[&a, &b]).await;
        // One file has as many organisations as it may have.
        for n in 0..4 {
            let organisations: Vec<_> = (0..50).map(|m| format!("o{}", n * 50 + m)).collect();
            files.resolve(&farm, json!({"ids": [b], "shareWith": organisations})).await.ok();
        }
        assert_eq!(files.resolve(&farm, share).await.errors(), ["shareWith length"]);
        assert_no_orphans(&files, &farm, &[&a, &b]).await;
        assert!(!is_public(&files, &a).await && !is_public(&files, &b).await);
    }

    async fn a_repeated_share_stores_nothing(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let (a, b) = (upload(&files, &farm, 0).await, upload(&files, &farm, 8).await);
        let share = |ids: &[&String]| json!({"ids": ids, "shareWith": ["*"], "shareId": "s"});
        files.resolve(&farm, share(&[&a])).await.ok();
        assert_no_orphans(&files, &farm, &[&a, &b]).await;
        files.resolve(&farm, json!({"ids": [a], "unshareWith": ["*"]})).await.ok();
        // The id was used, so this shares neither file again.
        files.resolve(&farm, share(&[&a, &b])).await.ok();
        assert!(!is_public(&files, &a).await && !is_public(&files, &b).await);
        assert_eq!(files.stored().await.len(), 2);
        assert!(has(&files.get(&farm, &b).await.bytes, SECRET));
    }

    async fn concurrent_calls_store_each_content_once(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let mut ids = Vec::new();
        for n in 0..6 {
            ids.push(upload(&files, &farm, n * 8).await);
        }
        let share = || files.resolve(&farm, json!({"ids": ids, "shareWith": ["*"]}));
        let (a, b) = tokio::join!(share(), share());
        assert_eq!(a.ok(), b.ok());
        let ids: Vec<_> = ids.iter().collect();
        assert_no_orphans(&files, &farm, &ids).await;
    }
}

/// The service goes on for a client that has gone, and a retry finds what it did.
#[test]
fn a_retry_joins_the_call_before_on_s3() {
    testkit::block_on(async {
        let files = start(Storage::Bucket).await;
        let farm = User::of("farm");
        let mut ids = Vec::new();
        for n in 0..8 {
            ids.push(upload(&files, &farm, n * 8).await);
        }
        let body = json!({"ids": ids, "shareWith": ["*"]});
        for milliseconds in [1, 5, 20, 40] {
            let call = files.resolve(&farm, body.clone());
            let _ = tokio::time::timeout(Duration::from_millis(milliseconds), call).await;
        }
        files.resolve(&farm, body).await.ok();
        let ids: Vec<_> = ids.iter().collect();
        files.wait_for_stored(ids.len()).await;
        assert_no_orphans(&files, &farm, &ids).await;
    });
}

testkit::on_both! {
    /// An image without metadata keeps its content.
    async fn other_contents_stay(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let (image, text) = (jpeg(64, 32, false), b"a text".to_vec());
        let mut ids = Vec::new();
        for content in [&image, &text] {
            ids.push(files.make(&farm, "misc", content).await);
        }
        files.resolve(&farm, json!({"ids": ids, "shareWith": ["*"]})).await.ok();
        for (file, content) in ids.iter().zip([image, text]) {
            assert_eq!(files.get(&User::of("mart"), file).await.bytes, content);
        }
        assert_eq!(files.stored().await.len(), 2);
    }
}
