//! SQLite files that are removed or replaced while they are in use.

use std::fs;
use std::process::Command;
use std::time::Duration;

use database::{Database, Error, Options};
use diesel::connection::SimpleConnection;
use testkit::{Backend, TestDatabase, block_on};

use crate::support::{add, migrations, names, options};

fn is_gone(written: &Result<(), Error>) -> bool {
    matches!(written, Err(Error::Unavailable(_, reason)) if reason.contains("is gone"))
}

#[test]
fn writes_fail_while_the_database_file_is_missing() {
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
        assert!(!fs::exists(&path).unwrap(), "no empty file is created");

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
fn concurrent_writes_to_a_missing_file_all_fail() {
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

/// Returns the path of the write-ahead log of a SQLite database.
fn log_path(test: &TestDatabase) -> String {
    format!("{}-wal", test.url.strip_prefix("sqlite://").unwrap())
}

#[test]
fn writes_fail_while_the_log_is_missing() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let log = log_path(&test);
        let aside = format!("{log}.aside");
        let db = Database::open(Options { pool_size: 1, ..options(&test.url) }, migrations).await.unwrap();
        add(&db, "before").await.unwrap();

        fs::rename(&log, &aside).unwrap();
        assert!(!db.ping().await);
        assert!(is_gone(&add(&db, "lost").await));
        assert!(!fs::exists(&log).unwrap(), "no empty log is created");

        fs::write(&log, "").unwrap();
        assert!(!db.ping().await, "another log is in its place");
        assert!(is_gone(&add(&db, "lost").await));
        assert_eq!(names(&db).await, ["before"]);

        fs::rename(&aside, &log).unwrap();
        assert!(db.ping().await);
        add(&db, "later").await.unwrap();

        // Closing the database copies the unlinked log into it.
        fs::remove_file(&log).unwrap();
        assert!(!db.ping().await);
        drop(db);
        wait_until(|| !fs::exists(test.url.strip_prefix("sqlite://").unwrap().to_owned() + "-shm").unwrap())
            .await;
        let db = Database::open(options(&test.url), migrations).await.unwrap();
        assert!(db.ping().await);
        assert_eq!(names(&db).await, ["before", "later"]);
    });
}

async fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the condition did not hold within 5 s");
}

/// The log is never reported as missing: not before the first write, nor while it is checkpointed or truncated, nor
/// while another process opens and closes the database.
#[test]
fn existing_logs_are_never_reported_as_missing() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let path = test.url.strip_prefix("sqlite://").unwrap().to_owned();
        for start in 0..3 {
            let db = Database::open(options(&test.url), migrations).await.unwrap();
            assert!(db.ping().await, "right after start {start}");
            for mode in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"] {
                add(&db, &format!("{start} {mode}")).await.unwrap();
                let sql = format!("PRAGMA wal_checkpoint({mode})");
                db.read(move |c| Ok::<_, Error>(c.batch_execute(&sql)?)).await.unwrap();
                assert!(db.ping().await, "{mode}");
            }
            db.write(|c| Ok::<_, Error>(c.batch_execute("DELETE FROM counters; SAVEPOINT a; RELEASE a")?))
                .await
                .unwrap();
            drop(Database::open(options(&test.url), migrations).await.unwrap());
            Database::backup(&options(&test.url), format!("{path}.{start}").as_ref(), |_| {}).unwrap();
            // Other programs may do this. While the service has the file open, SQLite refuses the first statement and
            // keeps the log.
            for sql in ["PRAGMA journal_mode=DELETE", "VACUUM"] {
                let other = other_process(&path, sql);
                assert!(db.ping().await, "{sql}: {other}");
            }
            add(&db, &format!("{start} later")).await.unwrap();
            assert_eq!(names(&db).await.len(), 5 * (start + 1));
        }
    });
}

/// Runs a statement in another process and returns its error message, if any.
fn other_process(path: &str, sql: &str) -> String {
    let program = "import sqlite3, sys\ntry: sqlite3.connect(sys.argv[1], timeout=0.2, isolation_level=None).execute(sys.argv[2])\n\
                   except sqlite3.Error as error: print(error)";
    let output = Command::new("python3").args(["-c", program, path, sql]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
