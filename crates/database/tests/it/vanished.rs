//! A SQLite file that is removed or replaced while it is in use.

use std::fs;

use database::{Database, Error, Options};
use testkit::{Backend, TestDatabase, block_on};

use crate::support::{add, migrations, names, options};

fn is_gone(written: &Result<(), Error>) -> bool {
    matches!(written, Err(Error::Unavailable(reason)) if reason.contains("is gone"))
}

#[test]
fn nothing_is_written_to_a_file_that_is_gone() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let path = test.url.strip_prefix("sqlite://").unwrap().to_owned();
        let aside = format!("{path}.aside");
        let db = Database::open(Options { pool_size: 1, ..options(&test.url) }, migrations).await.unwrap();
        add(&db, "before").await.unwrap();
        assert!(db.ping().await);

        fs::rename(&path, &aside).unwrap();
        assert!(!db.ping().await);
        for _ in 0..2 {
            let written = add(&db, "lost").await;
            assert!(is_gone(&written), "{written:?}");
        }
        assert!(!fs::exists(&path).unwrap(), "no empty file is made");

        fs::write(&path, "").unwrap();
        assert!(!db.ping().await, "another file is in its place");
        assert!(is_gone(&add(&db, "lost").await));

        fs::rename(&aside, &path).unwrap();
        assert!(db.ping().await);
        add(&db, "later").await.unwrap();
        assert_eq!(names(&db).await, ["before", "later"]);
    });
}

#[test]
fn concurrent_writes_to_a_file_that_is_gone_are_all_refused() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let db = Database::open(options(&test.url), migrations).await.unwrap();
        fs::remove_file(test.url.strip_prefix("sqlite://").unwrap()).unwrap();
        let writes = (0..20).map(|n| {
            let db = db.clone();
            async move { add(&db, &n.to_string()).await }
        });
        let written = futures_util::future::join_all(writes).await;
        assert!(written.iter().all(is_gone), "{written:?}");
        assert!(names(&db).await.is_empty());
    });
}
