//! A copy of a database in use: what was there when it began, whole; or no copy.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use database::{Database, Error, Progress};
use testkit::{Backend, TestDatabase};

use crate::support::{add, migrations, names, open, options};

fn backup(url: &str, to: &Path) -> Result<(), Error> {
    Database::backup(&options(url), to, |_| {})
}

fn refused(result: Result<(), Error>, part: &str) {
    let Err(Error::Setup(sentence)) = result else { panic!("{result:?}") };
    assert!(sentence.contains(part) && !sentence.contains('\n'), "{sentence}");
}

/// What is in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_under_writes_has_all_that_was_acknowledged_before_and_no_gap() {
    let (db, test) = open(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let (enough, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writer = {
        let (db, enough, done) = (db.clone(), enough.clone(), done.clone());
        tokio::spawn(async move {
            for number in 0.. {
                // Each is as large as a page, so that there are many to copy while others come.
                add(&db, &format!("{number:06}{}", "x".repeat(4096))).await.unwrap();
                done.store(number + 1, Ordering::SeqCst);
                if enough.load(Ordering::SeqCst) {
                    break;
                }
            }
        })
    };
    for round in 0..3 {
        while done.load(Ordering::SeqCst) < 300 * (round + 1) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let copy = folder.path().join(format!("copy {round}?#%.sqlite"));
        let (url, to) = (test.url.clone(), copy.clone());
        let before = done.load(Ordering::SeqCst);
        let mut seen = Vec::new();
        let copied = tokio::task::spawn_blocking(move || {
            let copied = Database::backup(&options(&url), &to, |progress| seen.push(progress));
            (copied, seen)
        });
        let (copied, seen) = copied.await.unwrap();
        copied.unwrap();
        assert_eq!(seen.last(), Some(&Progress::Checking), "{seen:?}");
        let url = format!("sqlite://{}", folder.path().join(format!("{round}.sqlite")).display());
        std::fs::copy(&copy, folder.path().join(format!("{round}.sqlite"))).unwrap();
        let restored = Database::open(options(&url), migrations).await.unwrap();
        let numbers: Vec<usize> =
            names(&restored).await.iter().map(|name| name[..6].parse().unwrap()).collect();
        assert!(numbers.len() >= before, "{} of {before}", numbers.len());
        assert!(numbers.iter().copied().eq(0..numbers.len()), "{numbers:?}");
        add(&restored, "goes on").await.unwrap();
    }
    enough.store(true, Ordering::SeqCst);
    writer.await.unwrap();
}

#[tokio::test]
async fn there_is_a_whole_copy_or_none() {
    let (db, test) = open(Backend::Sqlite).await;
    add(&db, "one").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.sqlite");
    refused(backup(&test.url, &folder.path().join("no/such/folder.sqlite")), "cannot be copied to");
    refused(backup("sqlite:///tmp/no-such-database.sqlite", &to), "there is no database");
    refused(backup("postgres://u:p@h/d", &to), "pg_dump");
    // Rows that refer to none, and bytes that are no page: neither is kept.
    let orphan = folder.path().join("orphan.sqlite");
    backup(&test.url, &orphan).unwrap();
    let break_it = "PRAGMA foreign_keys=OFF; CREATE TABLE a (b INTEGER REFERENCES c (d)); CREATE TABLE c (d INTEGER PRIMARY KEY);
        INSERT INTO a VALUES (1)";
    test.execute(break_it);
    refused(backup(&test.url, &to), "a row of a refers to none");
    let mut bytes = std::fs::read(&orphan).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0x5a);
    std::fs::write(&orphan, bytes).unwrap();
    refused(backup(&format!("sqlite://{}", orphan.display()), &to), "damaged");
    let mut left = names_in(folder.path());
    left.retain(|name| !name.starts_with("orphan.sqlite"));
    assert_eq!(left, [""; 0]);
    // What is there stays.
    std::fs::write(&to, "mine").unwrap();
    refused(backup(&test.url, &to), "is there already");
    assert_eq!(std::fs::read(&to).unwrap(), b"mine");
}

#[tokio::test]
async fn nobody_else_may_read_a_copy() {
    use std::os::unix::fs::PermissionsExt;
    let test = TestDatabase::empty(Backend::Sqlite).await;
    Database::migrate(&options(&test.url), migrations()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.sqlite");
    backup(&test.url, &to).unwrap();
    assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names_in(folder.path()), ["copy.sqlite"]);
}
