//! Slow, silent and lost servers behind a pooler, and a lost pooler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::{Database, Error, Options};
use diesel::RunQueryDsl;
use futures_util::future::join_all;
use testkit::{block_on, execute_on_server};

use super::{open, pooled, start};
use crate::stalls::stalling_proxy;
use crate::support::{Thing, add, insert, migrations, names, open_with};

async fn sleep(db: &Database, seconds: u32) -> Result<(), Error> {
    db.read(move |c| {
        diesel::sql_query(format!("SELECT pg_sleep({seconds})")).execute(c)?;
        Ok(())
    })
    .await
}

/// Calls a function until it succeeds. Every failure must be [`Error::Unavailable`], for 20 s at most.
async fn eventually<T>(call: impl AsyncFn() -> Result<T, Error>) -> T {
    let begun = Instant::now();
    loop {
        match call().await {
            Ok(value) => return value,
            Err(error) => {
                assert!(matches!(error, Error::Unavailable(..)), "{error:?}");
                assert!(begun.elapsed() < Duration::from_secs(20), "{error:?}");
            }
        }
    }
}

#[test]
fn slow_queries_are_not_abandoned() {
    block_on(async {
        let (test, pooler) = start(3).await;
        let short = Options { wait_timeout: Duration::from_millis(300), ..pooled(&pooler.url(&test)) };
        let db = open_with(short).await;
        let slow = join_all([sleep(&db, 7), sleep(&db, 6)]);
        for result in slow.await {
            result.unwrap();
        }
    });
}

/// A stalled call is abandoned. The sessions that it would have shared execute the calls of other clients, which are
/// not disturbed.
#[test]
fn stalled_calls_are_abandoned_and_others_go_on() {
    block_on(async {
        let (other, test, pooler) = open(3).await;
        let stalled = Arc::new(AtomicBool::new(false));
        let url = stalling_proxy(&pooler.url(&test), &stalled).await;
        let short = Options { pool_size: 2, wait_timeout: Duration::from_millis(500), ..pooled(&url) };
        let db = open_with(short).await;
        add(&db, "before").await.unwrap();
        let slow = tokio::spawn(async move { sleep(&other, 12).await });
        stalled.store(true, Ordering::SeqCst);
        let (read, written) = tokio::join!(sleep(&db, 0), add(&db, "meanwhile"));
        assert!(matches!(read, Err(Error::Unavailable(..))), "{read:?}");
        assert!(matches!(written, Err(Error::Unavailable(..))), "{written:?}");
        stalled.store(false, Ordering::SeqCst);
        eventually(async || add(&db, "after").await).await;
        assert_eq!(names(&db).await, ["after", "before"]);
        slow.await.unwrap().unwrap();
    });
}

#[test]
fn terminated_connections_are_replaced() {
    block_on(async {
        let (db, test, _pooler) = open(2).await;
        for name in ["a", "b", "c"] {
            let reads = join_all((0..4).map(|_| names(&db)));
            let (written, _) = tokio::join!(add(&db, name), reads);
            written.unwrap();
            test.terminate_connections();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        eventually(async || add(&db, "d").await).await;
        assert_eq!(names(&db).await, ["a", "b", "c", "d"]);
    });
}

#[test]
fn writes_interrupted_during_commit_have_an_unknown_outcome() {
    block_on(async {
        let (db, test, _pooler) = open(2).await;
        let kill = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
            test.name()
        );
        let thing = Thing::named("maybe");
        let written = db.write(move |c| {
            insert(c, &thing)?;
            execute_on_server(&kill);
            Ok::<_, Error>(())
        });
        let result = written.await;
        assert!(matches!(result, Err(Error::CommitUnknown(_))), "{result:?}");
        assert_eq!(names(&db).await, [""; 0]);
    });
}

#[test]
fn a_restarted_pooler_is_found_again() {
    block_on(async {
        let (db, test, mut pooler) = open(2).await;
        join_all((0..4).map(|_| names(&db))).await;
        pooler.stop();
        let refused = add(&db, "lost").await;
        assert!(matches!(refused, Err(Error::Unavailable(..))), "{refused:?}");
        assert!(!db.ping().await);
        pooler.restart();
        eventually(async || add(&db, "found").await).await;
        assert!(db.ping().await);
        assert_eq!(names(&db).await, ["found"]);
        let missing = Options { migrate: false, ..pooled(&pooler.url(&test).replace(test.name(), "none")) };
        let error = Database::open(missing, migrations).await.err().unwrap().to_string();
        assert!(error.contains("none") && !error.contains('\n'), "{error}");
    });
}
