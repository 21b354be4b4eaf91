//! A PostgreSQL server that stops responding, and one that is slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::{Error, Options};
use diesel::RunQueryDsl;
use testkit::{Backend, TestDatabase, block_on};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Thing, add, insert, names, open_with, options};

/// Starts a proxy before the server and returns the database URL through it. While `stalled` is true, a connection that
/// transfers data stalls for good: the proxy reads from it and forwards nothing.
pub(crate) async fn stalling_proxy(url: &str, stalled: &Arc<AtomicBool>) -> String {
    let address = url.rsplit_once('@').unwrap().1.split('/').next().unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxied = url.replace(&address, &listener.local_addr().unwrap().to_string());
    let stalled = stalled.clone();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(&address).await.unwrap();
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            for (mut from, mut to) in [(near_in, far_out), (far_in, near_out)] {
                let stalled = stalled.clone();
                tokio::spawn(async move {
                    let (mut buffer, mut is_stalled) = ([0; 4096], false);
                    while let Ok(size @ 1..) = from.read(&mut buffer).await {
                        is_stalled |= stalled.load(Ordering::SeqCst);
                        if !is_stalled && to.write_all(&buffer[..size]).await.is_err() {
                            return;
                        }
                    }
                    std::future::pending::<()>().await; // keeps the other side open
                });
            }
        }
    });
    proxied
}

#[test]
fn calls_to_stalled_postgres_are_abandoned_and_later_calls_succeed() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let stalled = Arc::new(AtomicBool::new(false));
        let url = stalling_proxy(&test.url, &stalled).await;
        let options = Options { pool_size: 2, wait_timeout: Duration::from_millis(500), ..options(&url) };
        let db = open_with(options).await;
        add(&db, "before").await.unwrap();
        stalled.store(true, Ordering::SeqCst);
        let started = Instant::now();
        let read = db.read(|c| {
            diesel::sql_query("SELECT 1").execute(c)?;
            Ok::<_, Error>(())
        });
        // A write that is abandoned before its commit never commits, even if the server receives its statements later.
        let (read, written) = tokio::join!(read, add(&db, "meanwhile"));
        assert!(matches!(read, Err(Error::Unavailable(..))), "{read:?}");
        assert!(matches!(written, Err(Error::Unavailable(..))), "{written:?}");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert!(!db.ping().await, "both connections are stalled");
        // The old connections stay stalled. Other calls use their permits.
        stalled.store(false, Ordering::SeqCst);
        let resumed = Instant::now();
        while let Err(error) = add(&db, "after").await {
            assert!(resumed.elapsed() < Duration::from_secs(30), "{error:?}");
        }
        assert_eq!(names(&db).await, ["after", "before"]);
        assert!(db.ping().await);
    });
}

#[test]
fn commits_unanswered_by_postgres_have_an_unknown_outcome() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let stalled = Arc::new(AtomicBool::new(false));
        let url = stalling_proxy(&test.url, &stalled).await;
        let options = Options { wait_timeout: Duration::from_millis(500), ..options(&url) };
        let db = open_with(options).await;
        let thing = Thing::named("maybe");
        let written = db.write(move |c| {
            insert(c, &thing)?;
            stalled.store(true, Ordering::SeqCst);
            Ok::<_, Error>(())
        });
        let answer = written.await;
        assert!(matches!(answer, Err(Error::CommitUnknown(_))), "{answer:?}");
    });
}

#[test]
fn slow_queries_of_postgres_are_not_abandoned() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let short = Options { wait_timeout: Duration::from_millis(300), ..options(&test.url) };
        let db = open_with(short).await;
        let slept = db.read(|c| {
            diesel::sql_query("SELECT pg_sleep(3)").execute(c)?;
            Ok::<_, Error>(())
        });
        slept.await.unwrap();
    });
}
