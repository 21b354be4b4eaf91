//! The folder in which content lies.

use std::fs;
use std::time::{Duration, SystemTime};

use system::files::content::ContentStore;
use testkit::User;

use super::{form, part, start};

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

testkit::on_both! {
    async fn readiness_names_it(backend) {
        let files = start(backend).await;
        assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "ok");
        fs::remove_dir_all(files.folder.path().join("store")).unwrap();
        assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "degraded");
        let form = form("files", "misc", "x").part("file", part(b"x"));
        let reply = files.upload(&User::of("farm"), form).await;
        assert_eq!(reply.header("retry-after"), "2");
        assert_eq!(reply.error(503), "dependency_unavailable");
    }
}
