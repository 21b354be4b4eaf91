//! Opening the store.

use std::time::SystemTime;

use super::*;

#[test]
fn a_wrong_address_is_said_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let blocked = format!("file://{}", file.display());
    for url in ["", "files", "/var/files", "s3://bucket", "file://", &blocked] {
        let error = format!("{:#}", ContentStore::open(url).unwrap_err());
        assert!(error.contains("service.store_url") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn what_a_crash_left_behind_goes_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", folder.path().display());
    ContentStore::open(&url).unwrap();
    let (old, young) = (folder.path().join(".staging/old"), folder.path().join(".staging/young"));
    let day = Duration::from_secs(25 * 3600);
    fs::File::create(&old).unwrap().set_modified(SystemTime::now() - day).unwrap();
    fs::write(&young, "another replica's").unwrap();
    ContentStore::open(&url).unwrap();
    assert!(!old.exists() && young.exists());
}
