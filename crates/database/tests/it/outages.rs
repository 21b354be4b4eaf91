//! Busy connections, terminated connections and unavailable servers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use database::{AnyConnection, Error, Options};
use diesel::{QueryResult, RunQueryDsl};
use testkit::{Backend, TestDatabase, block_on, execute_on_server};

use crate::support::{Thing, add, insert, names, open, open_with, options};

testkit::on_both! {
    async fn reads_without_a_free_connection_time_out(backend) {
        let test = TestDatabase::empty(backend).await;
        let wait_timeout = Duration::from_millis(400);
        let db = open_with(Options { pool_size: 2, wait_timeout, ..options(&test.url) }).await;
        let (started, mut has_started) = tokio::sync::mpsc::channel(2);
        let hold = || {
            let (db, started) = (db.clone(), started.clone());
            let (release, released) = mpsc::channel::<()>();
            let held = tokio::spawn(async move {
                db.read(move |_| {
                    let _ = started.try_send(());
                    let _ = released.recv();
                    Ok::<_, Error>(())
                }).await
            });
            (held, release)
        };
        let held = [hold(), hold()];
        for _ in &held {
            has_started.recv().await.unwrap();
        }
        // Without its timeout the read would wait for the held connections.
        let refused = db.read(|_| Ok::<_, Error>(()));
        let refused = tokio::time::timeout(Duration::from_secs(10), refused).await.expect("a timeout");
        assert!(matches!(refused, Err(Error::Unavailable(..))), "{refused:?}");
        for (held, release) in held {
            drop(release);
            held.await.unwrap().unwrap();
        }
        db.read(|_| Ok::<_, Error>(())).await.unwrap();
    }
}

fn execute(c: &mut AnyConnection, statement: &str) -> QueryResult<usize> {
    diesel::sql_query(statement).execute(c)
}

#[test]
fn terminated_connections_to_postgres_are_replaced() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let concurrent = || futures_util::future::join_all((0..4).map(|_| names(&db)));
        concurrent().await;
        test.terminate_connections();
        concurrent().await;
        test.terminate_connections();
        // Writes are retried too: nothing is committed before COMMIT.
        add(&db, "after").await.unwrap();
        assert_eq!(names(&db).await, ["after"]);
    });
}

#[test]
fn interrupted_writes_to_postgres_are_retried_and_commit_once() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let (name, mut first) = (test.name().to_owned(), true);
        let thing = Thing::named("once");
        let written = db.write(move |c| {
            insert(c, &thing)?;
            if std::mem::take(&mut first) {
                let others = "pid <> pg_backend_pid()";
                execute_on_server(&format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND {others}"
                ));
                return Err(execute(c, "SELECT 1").unwrap_err().into());
            }
            Ok::<_, Error>(())
        });
        written.await.unwrap();
        assert_eq!(names(&db).await, ["once"]);
    });
}

#[test]
fn writes_to_postgres_interrupted_during_commit_are_not_retried() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let name = test.name().to_owned();
        let runs = Arc::new(AtomicU32::new(0));
        let (counted, thing) = (runs.clone(), Thing::named("maybe"));
        let written = db.write(move |c| {
            counted.fetch_add(1, Ordering::SeqCst);
            insert(c, &thing)?;
            execute_on_server(&format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            ));
            Ok::<_, Error>(())
        });
        let answer = written.await;
        assert!(matches!(answer, Err(Error::CommitUnknown(_))), "{answer:?}");
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(names(&db).await, [""; 0]);
    });
}

#[test]
fn missing_postgres_databases_are_unavailable_within_the_timeout() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let short = Options { wait_timeout: Duration::from_millis(500), ..options(&test.url) };
        let db = open_with(short).await;
        execute_on_server(&format!("DROP DATABASE {} WITH (FORCE)", test.name()));
        let started = Instant::now();
        let refused = db.read(|c| {
            execute(c, "SELECT 1")?;
            Ok::<_, Error>(())
        });
        assert!(matches!(refused.await, Err(Error::Unavailable(..))));
        assert!(matches!(add(&db, "x").await, Err(Error::Unavailable(..))));
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    });
}

#[test]
fn lock_timeouts_of_postgres_are_unavailable() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let (held, release) = mpsc::channel::<()>();
        let (started, mut has_started) = tokio::sync::mpsc::channel(1);
        let holding = tokio::spawn({
            let db = db.clone();
            async move {
                db.write(move |c| {
                    execute(c, "UPDATE counters SET n = 1")?;
                    let _ = started.try_send(());
                    let _ = release.recv();
                    Ok::<_, Error>(())
                })
                .await
            }
        });
        has_started.recv().await.unwrap();
        let waiting = db.write(|c| {
            execute(c, "SET LOCAL lock_timeout = '50ms'")?;
            execute(c, "UPDATE counters SET n = 2")?;
            Ok::<_, Error>(())
        });
        let error = waiting.await.unwrap_err();
        assert!(error.is_lock_timeout() && matches!(error, Error::Unavailable(..)), "{error:?}");
        held.send(()).unwrap();
        holding.await.unwrap().unwrap();
        drop(test);
    });
}

#[test]
fn read_only_postgres_is_unavailable() {
    block_on(async {
        let (db, _test) = open(Backend::Postgres).await;
        let written = db.write(|c| {
            execute(c, "SET TRANSACTION READ ONLY")?;
            insert(c, &Thing::named("x"))
        });
        let answer = written.await;
        assert!(matches!(answer, Err(Error::Unavailable(..))), "{answer:?}");
    });
}
