//! Opening stores, and what a folder lists.

use std::fs;
use std::time::Duration;

use futures_util::TryStreamExt;

use super::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn at(url: &str) -> Settings {
    Settings { store_url: url.into(), ..Settings::default() }
}

async fn refusal(settings: &Settings) -> String {
    format!("{:#}", ContentStore::open(settings).await.unwrap_err())
}

#[tokio::test]
async fn a_wrong_address_is_said_in_one_sentence() {
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
        "s3://KEY:SECRET@bucket",
        "s3://bucket:9000/x",
        "s3://bucket?region=x",
        "gs://bucket/a//b",
    ] {
        let error = refusal(&at(url)).await;
        assert!(error.contains("service.store_url") && !error.contains('\n'), "{url}: {error}");
        assert!(!error.contains("SECRET"), "{error}");
    }
}

#[tokio::test]
async fn credentials_come_in_pairs_and_where_they_are_of_use() {
    for url in ["s3://bucket", "az://container"] {
        let half = Settings { store_access_key: Some("key".into()), ..at(url) };
        let error = refusal(&half).await;
        assert!(error.contains("service.store_secret_key") && !error.contains('\n'), "{error}");
        let plain = Settings { store_secret_key: Some("c2VjcmV0".into()), ..half };
        let debug = format!("{plain:?} {}", serde_json::to_string(&plain).unwrap());
        assert!(!debug.contains("c2VjcmV0"), "{debug}");
    }
    let google = Settings {
        store_access_key: Some("key".into()),
        store_secret_key: Some("secret".into()),
        ..at("gs://bucket")
    };
    assert!(refusal(&google).await.contains("GOOGLE_APPLICATION_CREDENTIALS"));
}

#[tokio::test]
async fn a_folder_lists_what_is_content() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", folder.path().display());
    let store = ContentStore::open(&at(&url)).await.unwrap();
    let hash = "ab".repeat(32);
    let mut kept = vec![Name::new(&hash), Name::new(&hash), Name::from(hash.clone())];
    assert_ne!(kept[0], kept[1]);
    for name in &kept {
        let mut staging = store.begin();
        staging.push(b"content").await.unwrap();
        store.keep(staging.finish().await.unwrap(), name).await.unwrap();
        assert!(store.has(name, 7).await.unwrap() && !store.has(name, 8).await.unwrap());
    }
    for other in ["ab/notes.txt", "ab/README", &format!("ab/{hash}-x"), &format!("cd/{hash}"), "photo.jpg"] {
        let path = folder.path().join(other);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "somebody else's").unwrap();
    }
    let batches: Vec<_> = store.list().try_collect().await.unwrap();
    let mut found: Vec<_> = batches.into_iter().flatten().map(|found| found.name).collect();
    found.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    kept.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    assert_eq!(found, kept);
    store.remove(kept.clone()).await.unwrap();
    store.remove(kept).await.unwrap();
    assert_eq!(store.list().try_collect::<Vec<_>>().await.unwrap().len(), 0);
    assert!(folder.path().join("ab/notes.txt").exists());
}

#[tokio::test]
async fn bytes_are_the_same_from_memory_and_from_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = ContentStore::open(&at(&format!("file://{}", folder.path().display()))).await.unwrap();
    let content: Vec<u8> = (0..700_000u32).flat_map(u32::to_le_bytes).collect();
    let (size, name) = (content.len() as u64, Name::new(&"ab".repeat(32)));
    let mut staging = store.begin();
    for chunk in content.chunks(50_000) {
        staging.push(chunk).await.unwrap();
    }
    store.keep(staging.finish().await.unwrap(), &name).await.unwrap();
    let path = folder.path().join("ab").join(name.as_str());
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    for bytes in [0..size, 1..size - 1, 0..1, 65_535..65_537, 100_000..400_000, size - 300_000..size] {
        let range = usize::try_from(bytes.start).unwrap()..usize::try_from(bytes.end).unwrap();
        for forget in [false, true] {
            #[cfg(target_os = "linux")]
            if forget {
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
            let body = store.read(&name, bytes.clone()).await.unwrap();
            let read = actix_web::body::to_bytes(body).await.unwrap();
            assert!(read == content[range.clone()], "{bytes:?} {forget}");
        }
    }
    file.set_len(size - 1).unwrap();
    let body = store.read(&name, 0..size).await.unwrap();
    assert!(actix_web::body::to_bytes(body).await.is_err());
    assert!(store.read(&name, size - 9..size).await.is_err());
}

#[tokio::test]
async fn uploads_that_a_crash_cut_off_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = ContentStore::open(&at(&format!("file://{}", folder.path().display()))).await.unwrap();
    let staging = folder.path().join(".staging");
    let make = |name, age| {
        let file = fs::File::create(staging.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        file
    };
    let hour = Duration::from_secs(3600);
    for (name, age) in [("crashed", hour), ("young", hour / 60), ("long ago", 2 * DAY)] {
        make(name, age);
    }
    let held = [make("held", hour), make("held long", 2 * DAY)];
    for file in &held {
        file.lock().unwrap();
    }
    // One that comes in is held by the process that takes it in.
    let mut upload = store.begin();
    upload.push(&vec![0; 3 << 20]).await.unwrap();
    upload.push(b"more").await.unwrap();
    let names = || fs::read_dir(&staging).unwrap().map(|entry| entry.unwrap().file_name());
    let known = ["crashed", "young", "long ago", "held", "held long"];
    let coming = names().find(|name| known.iter().all(|known| name != known)).unwrap();
    let file = fs::File::options().write(true).open(staging.join(&coming)).unwrap();
    file.set_modified(SystemTime::now() - hour).unwrap();
    assert_eq!(store.tidy().await.unwrap(), 3);
    let mut left: Vec<_> = names().collect();
    left.sort();
    let mut expected = vec!["held".into(), "young".into(), coming];
    expected.sort();
    assert_eq!(left, expected);
    store.keep(upload.finish().await.unwrap(), &Name::new(&"cd".repeat(32))).await.unwrap();
}
