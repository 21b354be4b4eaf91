//! Connections that are busy, cut or gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::{Database, Error, Options};
use testkit::{Backend, TestDatabase, block_on, execute_on_server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{add, migrations, names, open, options};

testkit::on_both! {
    async fn a_read_that_finds_no_connection_gives_up_in_time(backend) {
        let test = TestDatabase::empty(backend).await;
        let wait = Duration::from_millis(400);
        let few = Options { pool_size: 2, wait, ..options(&test.url) };
        let db = Database::open(few, migrations).await.unwrap();
        let hold = || {
            let db = db.clone();
            tokio::spawn(async move {
                db.read(|_| {
                    std::thread::sleep(Duration::from_millis(1500));
                    Ok::<_, Error>(())
                }).await
            })
        };
        let held = [hold(), hold()];
        tokio::time::sleep(Duration::from_millis(100)).await;
        let started = Instant::now();
        let refused = db.read(|_| Ok::<_, Error>(())).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
        assert!(started.elapsed() < Duration::from_millis(1200), "{:?}", started.elapsed());
        for held in held {
            held.await.unwrap().unwrap();
        }
        db.read(|_| Ok::<_, Error>(())).await.unwrap();
    }
}

fn cut(test: &TestDatabase) {
    let name = test.name();
    execute_on_server(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    ));
}

#[test]
fn cut_connections_are_replaced_unnoticed() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let concurrent = || futures_util::future::join_all((0..4).map(|_| names(&db)));
        concurrent().await;
        cut(&test);
        concurrent().await;
        cut(&test);
        // A write too: what was cut before COMMIT has not happened.
        add(&db, "after").await.unwrap();
        assert_eq!(names(&db).await, ["after"]);
    });
}

#[test]
fn a_write_that_is_cut_runs_again_once() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let (name, mut first) = (test.name().to_owned(), true);
        let thing = crate::support::Thing::named("once");
        let written = db.write(move |c| {
            crate::support::insert(c, &thing)?;
            if std::mem::take(&mut first) {
                let others = "pid <> pg_backend_pid()";
                execute_on_server(&format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND {others}"
                ));
                return Err(diesel::RunQueryDsl::execute(diesel::sql_query("SELECT 1"), c).unwrap_err().into());
            }
            Ok::<_, Error>(())
        });
        written.await.unwrap();
        assert_eq!(names(&db).await, ["once"]);
    });
}

#[test]
fn a_connection_lost_in_the_commit_is_not_run_again() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let name = test.name().to_owned();
        let runs = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let (counted, thing) = (runs.clone(), crate::support::Thing::named("maybe"));
        let written = db.write(move |c| {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            crate::support::insert(c, &thing)?;
            execute_on_server(&format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            ));
            Ok::<_, Error>(())
        });
        let answer = written.await;
        assert!(matches!(answer, Err(Error::CommitUnknown(_))), "{answer:?}");
        assert_eq!(runs.load(std::sync::atomic::Ordering::SeqCst), 1);
        assert_eq!(names(&db).await, [""; 0]);
    });
}

#[test]
fn a_database_that_is_gone_is_unavailable_in_time() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let short = Options { wait: Duration::from_millis(500), ..options(&test.url) };
        let db = Database::open(short, migrations).await.unwrap();
        execute_on_server(&format!("DROP DATABASE {} WITH (FORCE)", test.name()));
        let started = Instant::now();
        let refused = db.read(|c| {
            diesel::RunQueryDsl::execute(diesel::sql_query("SELECT 1"), c)?;
            Ok::<_, Error>(())
        });
        assert!(matches!(refused.await, Err(Error::Unavailable(_))));
        assert!(matches!(add(&db, "x").await, Err(Error::Unavailable(_))));
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    });
}

#[test]
fn a_row_that_stays_locked_is_unavailable() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let (held, release) = std::sync::mpsc::channel::<()>();
        let release = std::sync::Arc::new(std::sync::Mutex::new(release));
        let holding = tokio::spawn({
            let db = db.clone();
            async move {
                db.write(move |c| {
                    diesel::RunQueryDsl::execute(diesel::sql_query("UPDATE counters SET n = 1"), c)?;
                    let _ = release.lock().unwrap().recv();
                    Ok::<_, Error>(())
                })
                .await
            }
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let waiting = db.write(|c| {
            diesel::RunQueryDsl::execute(diesel::sql_query("SET LOCAL lock_timeout = '50ms'"), c)?;
            diesel::RunQueryDsl::execute(diesel::sql_query("UPDATE counters SET n = 2"), c)?;
            Ok::<_, Error>(())
        });
        let error = waiting.await.unwrap_err();
        assert!(error.is_lock_timeout() && matches!(error, Error::Unavailable(_)), "{error:?}");
        held.send(()).unwrap();
        holding.await.unwrap().unwrap();
        drop(test);
    });
}

/// A wire to the server: once it is silent it takes all and passes on nothing, on connections that it has.
async fn wire(url: &str, silent: &Arc<AtomicBool>) -> String {
    let address = url.rsplit_once('@').unwrap().1.split('/').next().unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let over = url.replace(&address, &listener.local_addr().unwrap().to_string());
    let silent = silent.clone();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(&address).await.unwrap();
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            for (mut from, mut to) in [(near_in, far_out), (far_in, near_out)] {
                let silent = silent.clone();
                tokio::spawn(async move {
                    let (mut buffer, mut lost) = ([0; 4096], false);
                    while let Ok(size @ 1..) = from.read(&mut buffer).await {
                        lost |= silent.load(Ordering::SeqCst);
                        if !lost && to.write_all(&buffer[..size]).await.is_err() {
                            return;
                        }
                    }
                    std::future::pending::<()>().await; // and nobody is told of an end
                });
            }
        }
    });
    over
}

#[test]
fn a_database_that_falls_silent_is_given_up_and_found_again() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let silent = Arc::new(AtomicBool::new(false));
        let url = wire(&test.url, &silent).await;
        let few = Options { pool_size: 2, wait: Duration::from_millis(500), ..options(&url) };
        let db = Database::open(few, migrations).await.unwrap();
        add(&db, "before").await.unwrap();
        silent.store(true, Ordering::SeqCst);
        let started = Instant::now();
        let read = db.read(|c| {
            diesel::RunQueryDsl::execute(diesel::sql_query("SELECT 1"), c)?;
            Ok::<_, Error>(())
        });
        // Before its commit a write is given up for good: whether or not the server hears of it, nothing happens.
        let (read, written) = tokio::join!(read, add(&db, "meanwhile"));
        assert!(matches!(read, Err(Error::Unavailable(_))), "{read:?}");
        assert!(matches!(written, Err(Error::Unavailable(_))), "{written:?}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert!(!db.ping().await, "both connections wait in vain");
        // The old connections stay silent: their places are others'.
        silent.store(false, Ordering::SeqCst);
        let mended = Instant::now();
        while let Err(error) = add(&db, "after").await {
            assert!(mended.elapsed() < Duration::from_secs(10), "{error:?}");
        }
        assert_eq!(names(&db).await, ["after", "before"]);
        assert!(db.ping().await);
    });
}

#[test]
fn a_commit_that_is_not_answered_is_in_doubt() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let silent = Arc::new(AtomicBool::new(false));
        let url = wire(&test.url, &silent).await;
        let few = Options { wait: Duration::from_millis(500), ..options(&url) };
        let db = Database::open(few, migrations).await.unwrap();
        let thing = crate::support::Thing::named("maybe");
        let written = db.write(move |c| {
            crate::support::insert(c, &thing)?;
            silent.store(true, Ordering::SeqCst);
            Ok::<_, Error>(())
        });
        let answer = written.await;
        assert!(matches!(answer, Err(Error::CommitUnknown(_))), "{answer:?}");
    });
}

#[test]
fn a_long_query_is_waited_for() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Postgres).await;
        let short = Options { wait: Duration::from_millis(300), ..options(&test.url) };
        let db = Database::open(short, migrations).await.unwrap();
        let slept = db.read(|c| {
            diesel::RunQueryDsl::execute(diesel::sql_query("SELECT pg_sleep(3)"), c)?;
            Ok::<_, Error>(())
        });
        slept.await.unwrap();
    });
}

#[test]
fn a_server_that_is_closed_for_writing_is_unavailable() {
    block_on(async {
        let (db, _test) = open(Backend::Postgres).await;
        let written = db.write(|c| {
            diesel::RunQueryDsl::execute(diesel::sql_query("SET TRANSACTION READ ONLY"), c)?;
            crate::support::insert(c, &crate::support::Thing::named("x"))
        });
        let answer = written.await;
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    });
}
