//! Backups of a SQLite database in use: a consistent copy, or none.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use database::{BackupProgress, Database, Error};
use testkit::{Backend, TestDatabase};

use crate::support::{add, migrations, names, open, options};

fn backup(url: &str, to: &Path) -> Result<(), Error> {
    Database::backup(&options(url), to, |_| {})
}

/// Asserts that a backup failed with one line that contains `part`.
fn assert_refused(result: Result<(), Error>, part: &str) {
    let Err(Error::Setup(sentence)) = result else { panic!("{result:?}") };
    assert!(sentence.contains(part) && !sentence.contains('\n'), "{sentence}");
}

/// Returns the names of the entries of a folder.
fn entries(folder: &Path) -> Vec<String> {
    let dir = std::fs::read_dir(folder).unwrap();
    dir.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_under_concurrent_writes_has_all_acknowledged_writes_and_no_gap() {
    let (db, test) = open(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writer = {
        let (db, stop, acknowledged) = (db.clone(), stop.clone(), acknowledged.clone());
        tokio::spawn(async move {
            for number in 0.. {
                // Each fills a page, so that the copy takes long enough for further writes.
                add(&db, &format!("{number:06}{}", "x".repeat(4096))).await.unwrap();
                acknowledged.store(number + 1, Ordering::SeqCst);
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        })
    };
    for round in 0..3 {
        while acknowledged.load(Ordering::SeqCst) < 300 * (round + 1) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let copy = folder.path().join(format!("copy {round}?#%.sqlite"));
        let (url, to) = (test.url.clone(), copy.clone());
        let before = acknowledged.load(Ordering::SeqCst);
        let mut seen = Vec::new();
        let copied = tokio::task::spawn_blocking(move || {
            let copied = Database::backup(&options(&url), &to, |progress| seen.push(progress));
            (copied, seen)
        });
        let (copied, seen) = copied.await.unwrap();
        copied.unwrap();
        assert_eq!(seen.last(), Some(&BackupProgress::Checking), "{seen:?}");
        let url = format!("sqlite://{}", folder.path().join(format!("{round}.sqlite")).display());
        std::fs::copy(&copy, folder.path().join(format!("{round}.sqlite"))).unwrap();
        let restored = Database::open(options(&url), migrations).await.unwrap();
        let numbers: Vec<usize> =
            names(&restored).await.iter().map(|name| name[..6].parse().unwrap()).collect();
        assert!(numbers.len() >= before, "{} of {before}", numbers.len());
        assert!(numbers.iter().copied().eq(0..numbers.len()), "{numbers:?}");
        add(&restored, "goes on").await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    writer.await.unwrap();
}

#[tokio::test]
async fn failed_backups_leave_no_file() {
    let (db, test) = open(Backend::Sqlite).await;
    add(&db, "one").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.sqlite");
    assert_refused(backup(&test.url, &folder.path().join("no/such/folder.sqlite")), "cannot be copied to");
    assert_refused(backup("sqlite:///tmp/no-such-database.sqlite", &to), "does not exist");
    assert_refused(backup("postgres://u:p@h/d", &to), "pg_dump");
    // A copy with a violated foreign key or a damaged page is discarded.
    let orphan = folder.path().join("orphan.sqlite");
    backup(&test.url, &orphan).unwrap();
    let violation = "PRAGMA foreign_keys=OFF; CREATE TABLE a (b INTEGER REFERENCES c (d)); CREATE TABLE c (d INTEGER PRIMARY KEY);
        INSERT INTO a VALUES (1)";
    test.execute(violation);
    assert_refused(backup(&test.url, &to), "a row of a violates a foreign key");
    let mut bytes = std::fs::read(&orphan).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0x5a);
    std::fs::write(&orphan, bytes).unwrap();
    assert_refused(backup(&format!("sqlite://{}", orphan.display()), &to), "damaged");
    let mut left = entries(folder.path());
    left.retain(|name| !name.starts_with("orphan.sqlite"));
    assert_eq!(left, [""; 0]);
    // An existing file is not overwritten.
    std::fs::write(&to, "mine").unwrap();
    assert_refused(backup(&test.url, &to), "already exists");
    assert_eq!(std::fs::read(&to).unwrap(), b"mine");
}

#[tokio::test]
async fn copies_are_readable_by_the_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let test = TestDatabase::empty(Backend::Sqlite).await;
    Database::migrate(&options(&test.url), migrations()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.sqlite");
    backup(&test.url, &to).unwrap();
    assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(entries(folder.path()), ["copy.sqlite"]);
}
