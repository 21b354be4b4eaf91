//! Tests of opening stores, and of the store in a folder.

use std::fs;
use std::time::Duration;

use futures_util::TryStreamExt;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn settings(url: &str) -> Settings {
    Settings { store_url: url.into(), ..Settings::default() }
}

async fn open_error(settings: &Settings) -> String {
    format!("{:#}", BlobStore::open(settings).await.unwrap_err())
}

#[tokio::test]
async fn reports_invalid_urls_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let blocked = format!("file://{}", file.display());
    for url in [
        "",
        "files",
        "/var/files",
        "file://",
        &blocked,
        "s3://",
        "s3:bucket",
        "http://bucket/x",
        "ftp://bucket",
        "s3://KEY:HUSH@bucket",
        "s3://bucket:9000/x",
        "s3://bucket?region=x",
        "gs://bucket/a//b",
    ] {
        let error = open_error(&settings(url)).await;
        assert!(error.contains("service.store_url") && !error.contains('\n'), "{url}: {error}");
        assert!(!error.contains("HUSH"), "{error}");
    }
}

#[tokio::test]
async fn rejects_incomplete_and_unsupported_credentials() {
    for url in ["s3://bucket", "az://container"] {
        let half = Settings { store_access_key: Some("key".into()), ..settings(url) };
        let error = open_error(&half).await;
        assert!(error.contains("service.store_secret_key") && !error.contains('\n'), "{error}");
        let plain = Settings { store_secret_key: Some("c2VjcmV0".into()), ..half };
        let debug = format!("{plain:?} {}", serde_json::to_string(&plain).unwrap());
        assert!(!debug.contains("c2VjcmV0"), "{debug}");
    }
    let google = Settings {
        store_access_key: Some("key".into()),
        store_secret_key: Some("secret".into()),
        ..settings("gs://bucket")
    };
    assert!(open_error(&google).await.contains("GOOGLE_APPLICATION_CREDENTIALS"));
}

#[tokio::test]
async fn lists_only_blobs_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", folder.path().display());
    let store = BlobStore::open(&settings(&url)).await.unwrap();
    let hash = "ab".repeat(32);
    let mut names = vec![BlobName::new(&hash), BlobName::new(&hash), BlobName::from(hash.clone())];
    assert_ne!(names[0], names[1]);
    for name in &names {
        let mut staging = store.stage();
        staging.push(b"content").await.unwrap();
        store.put(staging.finish().await.unwrap(), name).await.unwrap();
        assert!(store.contains(name, 7).await.unwrap() && !store.contains(name, 8).await.unwrap());
    }
    for other in ["ab/notes.txt", "ab/README", &format!("ab/{hash}-x"), &format!("cd/{hash}"), "photo.jpg"] {
        let path = folder.path().join(other);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "not ours").unwrap();
    }
    let batches: Vec<_> = store.list().try_collect().await.unwrap();
    let mut listed: Vec<_> = batches.into_iter().flatten().map(|entry| entry.name).collect();
    listed.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    assert_eq!(listed, names);
    store.remove(names.clone()).await.unwrap();
    store.remove(names).await.unwrap();
    assert_eq!(store.list().try_collect::<Vec<_>>().await.unwrap().len(), 0);
    assert!(folder.path().join("ab/notes.txt").exists());
}

#[tokio::test]
async fn reads_the_same_bytes_from_page_cache_and_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = BlobStore::open(&settings(&format!("file://{}", folder.path().display()))).await.unwrap();
    let content: Vec<u8> = (0..700_000u32).flat_map(u32::to_le_bytes).collect();
    let (size, name) = (content.len() as u64, BlobName::new(&"ab".repeat(32)));
    let mut staging = store.stage();
    for chunk in content.chunks(50_000) {
        staging.push(chunk).await.unwrap();
    }
    store.put(staging.finish().await.unwrap(), &name).await.unwrap();
    let path = folder.path().join("ab").join(name.as_str());
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    for range in [0..size, 1..size - 1, 0..1, 65_535..65_537, 100_000..400_000, size - 300_000..size] {
        let expected = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
        for evict in [false, true] {
            #[cfg(target_os = "linux")]
            if evict {
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
            let body = store.read(&name, range.clone()).await.unwrap();
            let read = actix_web::body::to_bytes(body).await.unwrap();
            assert!(read == content[expected.clone()], "{range:?} {evict}");
        }
    }
    file.set_len(size - 1).unwrap();
    let body = store.read(&name, 0..size).await.unwrap();
    assert!(actix_web::body::to_bytes(body).await.is_err());
    assert!(store.read(&name, size - 9..size).await.is_err());
}

#[tokio::test]
async fn removes_stale_uploads() {
    let folder = tempfile::tempdir().unwrap();
    let store = BlobStore::open(&settings(&format!("file://{}", folder.path().display()))).await.unwrap();
    let staging = folder.path().join(".staging");
    let make = |name, age| {
        let file = fs::File::create(staging.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        file
    };
    let hour = Duration::from_secs(3600);
    for (name, age) in [("crashed", hour), ("young", hour / 60), ("old", 2 * DAY)] {
        make(name, age);
    }
    let locked = [make("locked", hour), make("locked old", 2 * DAY)];
    for file in &locked {
        file.lock().unwrap();
    }
    // The process that receives an upload has its staged file locked.
    let mut upload = store.stage();
    upload.push(&vec![0; 3 << 20]).await.unwrap();
    upload.push(b"more").await.unwrap();
    let names = || fs::read_dir(&staging).unwrap().map(|entry| entry.unwrap().file_name());
    let known = ["crashed", "young", "old", "locked", "locked old"];
    let uploading = names().find(|name| known.iter().all(|known| name != known)).unwrap();
    let file = fs::File::options().write(true).open(staging.join(&uploading)).unwrap();
    file.set_modified(SystemTime::now() - hour).unwrap();
    assert_eq!(store.remove_stale_uploads().await.unwrap(), 3);
    let mut left: Vec<_> = names().collect();
    left.sort();
    let mut expected = vec!["locked".into(), "young".into(), uploading];
    expected.sort();
    assert_eq!(left, expected);
    store.put(upload.finish().await.unwrap(), &BlobName::new(&"cd".repeat(32))).await.unwrap();
}
