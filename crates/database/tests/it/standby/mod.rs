//! A URL with several hosts: a primary, a standby and a promotion.

mod lagging_reads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::{Database, Error, Options};
use testkit::{PostgresServer, block_on};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::support::{add, migrations, names, options};

/// Longest time without writes after a promotion: the longest pause of the pool between two attempts to connect, and
/// some time of a busy machine.
const MAX_RECOVERY: Duration = Duration::from_secs(10);

/// Starts a primary and a standby. The primary commits only what the standby has, too.
async fn start_servers() -> (PostgresServer, PostgresServer) {
    let started = spawn_blocking(|| {
        let primary = PostgresServer::primary();
        let standby = primary.standby();
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
        primary.execute("SELECT pg_reload_conf()");
        (primary, standby)
    });
    started.await.unwrap()
}

/// Returns options with the URL of both servers. The standby comes first, so each connection asks it and goes on.
fn of_both(primary: &PostgresServer, standby: &PostgresServer) -> Options {
    let url = format!(
        "postgres://postgres:secret@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
        standby.port, primary.port
    );
    Options { pool_size: 8, ..options(&url) }
}

/// What a writer has seen: the names of acknowledged rows, and when the last one before and the first one after the
/// longest pause were acknowledged.
#[derive(Default)]
struct Written {
    acknowledged: Vec<String>,
    unknown: usize,
    refused: usize,
    longest_pause: Duration,
}

/// Adds rows until `stop` is set. Calls may fail with errors that become 503 only.
async fn write_rows(db: Database, writer: usize, stop: Arc<AtomicBool>) -> Written {
    let (mut written, mut last) = (Written::default(), Instant::now());
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("{writer} {n}");
        match add(&db, &name).await {
            Ok(()) => {
                written.acknowledged.push(name);
                written.longest_pause = written.longest_pause.max(last.elapsed());
                last = Instant::now();
            }
            Err(Error::CommitUnknown(_)) => written.unknown += 1,
            Err(Error::Unavailable(..)) => written.refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    written
}

/// Waits until a row can be written.
async fn wait_for_writes(db: &Database) {
    let begun = Instant::now();
    while let Err(error) = add(db, "waited").await {
        assert!(begun.elapsed() < MAX_RECOVERY, "{error:?}");
    }
}

#[test]
fn writes_continue_after_a_promotion() {
    block_on(async {
        let (mut primary, standby) = start_servers().await;
        let db = Database::open(of_both(&primary, &standby), migrations).await.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let writers = (0..4).map(|writer| tokio::spawn(write_rows(db.clone(), writer, stop.clone())));
        let writers: Vec<_> = writers.collect();
        sleep(Duration::from_secs(1)).await;
        let primary = spawn_blocking(move || {
            primary.stop();
            primary
        });
        let _primary = primary.await.unwrap();
        sleep(Duration::from_secs(1)).await;
        // As `/readyz` does it.
        let ping = timeout(Duration::from_millis(900), db.ping()).await;
        assert!(!ping.unwrap_or(false), "a standby is no database for a service");
        let standby = spawn_blocking(move || {
            standby.promote();
            standby
        });
        let _standby = standby.await.unwrap();
        let promoted = Instant::now();
        wait_for_writes(&db).await;
        let recovery = promoted.elapsed();
        assert!(db.ping().await);
        sleep(Duration::from_secs(3)).await;
        stop.store(true, Ordering::Relaxed);
        let all = futures_util::future::join_all(writers).await;
        let found = names(&db).await;
        for written in all {
            let written = written.unwrap();
            for name in &written.acknowledged {
                assert!(found.binary_search(name).is_ok(), "the acknowledged row {name} is lost");
            }
            let Written { unknown, refused, longest_pause, .. } = written;
            println!(
                "acknowledged {}, unknown {unknown}, refused {refused}, longest pause {longest_pause:?}; writes \
                 {recovery:?} after the promotion",
                written.acknowledged.len()
            );
            assert!(longest_pause < MAX_RECOVERY, "{longest_pause:?}");
        }
    });
}

/// The call that meets the read-only server is retried, and older connections are not reused.
#[test]
fn servers_that_become_read_only_are_left() {
    block_on(async {
        let (primary, standby) = start_servers().await;
        let short = Options { wait_timeout: Duration::from_secs(1), ..of_both(&primary, &standby) };
        let db = Database::open(short.clone(), migrations).await.unwrap();
        // All connections of the pool are open.
        futures_util::future::join_all((0..8).map(|_| names(&db))).await;
        add(&db, "before").await.unwrap();
        let (primary, standby) = spawn_blocking(move || {
            primary.execute("ALTER SYSTEM SET default_transaction_read_only = on");
            primary.execute("SELECT pg_reload_conf()");
            (primary, standby)
        })
        .await
        .unwrap();
        sleep(Duration::from_millis(500)).await;
        let refused = add(&db, "meanwhile").await;
        assert!(matches!(refused, Err(Error::Unavailable(..))), "{refused:?}");
        let (_primary, _standby) = spawn_blocking(move || {
            let error = Database::check(&short, migrations()).unwrap_err().to_string();
            assert_eq!(error.matches("session is read-only").count(), 2, "{error}");
            assert!(!error.contains("secret") && !error.contains('\n'), "{error}");
            standby.promote();
            Database::check(&short, migrations()).unwrap();
            (primary, standby)
        })
        .await
        .unwrap();
        wait_for_writes(&db).await;
        let added = (0..8).map(|n| {
            let (db, name) = (db.clone(), format!("after {n}"));
            async move { add(&db, &name).await }
        });
        for result in futures_util::future::join_all(added).await {
            result.unwrap();
        }
        assert_eq!(names(&db).await.iter().filter(|name| name.starts_with("after")).count(), 8);
    });
}
