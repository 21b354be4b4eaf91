//! Group commit of SQLite: concurrent writes share commits and fail one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use database::Error;
use diesel::Connection;
use futures_util::future::join_all;
use testkit::{Backend, block_on};

use crate::support::{Thing, add, insert, names, open};

/// Time for which a group of writes is open, as in `src/sqlite/writer.rs`.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

/// Counts the commits in a write-ahead log. A frame that ends a commit has the size of the database in its header.
fn commits(url: &str) -> usize {
    let path = format!("{}-wal", url.trim_start_matches("sqlite://"));
    let log = std::fs::read(path).unwrap();
    let page = u32::from_be_bytes(log[8..12].try_into().unwrap()) as usize;
    log[32..].chunks(24 + page).filter(|frame| frame[4..8] != [0; 4]).count()
}

#[test]
fn queued_writes_share_commits() {
    block_on(async {
        let (db, test) = open(Backend::Sqlite).await;
        add(&db, "creates the log").await.unwrap();
        let before = commits(&test.url);
        // The other writes queue while the first one sleeps.
        let slow = db.write(|c| {
            std::thread::sleep(Duration::from_millis(60));
            insert(c, &Thing::named("first"))
        });
        let mut failed = Vec::new();
        let others = join_all((0..64).map(|i| {
            let db = db.clone();
            async move {
                if i % 8 == 3 {
                    let thing = Thing::named(&format!("bad {i:02}"));
                    let refused = db.write(move |c| {
                        insert(c, &thing)?;
                        Err::<(), _>(Error::Setup("no".into()))
                    });
                    return refused.await;
                }
                add(&db, &format!("good {i:02}")).await
            }
        }));
        let (first, others) = tokio::join!(slow, others);
        first.unwrap();
        for (i, result) in others.into_iter().enumerate() {
            match result {
                Ok(()) => assert!(i % 8 != 3),
                Err(error) => {
                    assert!(matches!(error, Error::Setup(_)), "{error:?}");
                    failed.push(i);
                }
            }
        }
        assert_eq!(failed.len(), 8);
        let stored = names(&db).await;
        assert_eq!(stored.len(), 58);
        assert!(stored.iter().all(|name| !name.starts_with("bad")));
        let commits = commits(&test.url) - before;
        assert!((1..30).contains(&commits), "{commits} commits for 57 writes");
    });
}

#[test]
fn queued_writes_of_cancelled_callers_are_skipped() {
    block_on(async {
        let (db, _test) = open(Backend::Sqlite).await;
        let (started, mut has_started) = tokio::sync::mpsc::channel(1);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let slow = tokio::spawn({
            let db = db.clone();
            async move {
                db.write(move |c| {
                    let _ = started.try_send(());
                    let _ = released.recv();
                    insert(c, &Thing::named("slow"))
                })
                .await
            }
        });
        has_started.recv().await.unwrap();
        for i in 0..5 {
            let name = format!("cancelled {i}");
            let waiting = tokio::time::timeout(Duration::from_millis(5), add(&db, &name)).await;
            assert!(waiting.is_err(), "the slow write still runs");
        }
        release.send(()).unwrap();
        add(&db, "last").await.unwrap();
        slow.await.unwrap().unwrap();
        assert_eq!(names(&db).await, ["last", "slow"]);
    });
}

#[test]
fn single_writes_commit_without_delay() {
    block_on(async {
        let (db, _test) = open(Backend::Sqlite).await;
        add(&db, "warm").await.unwrap();
        // A delay would slow down each write; a busy machine or disk slows down some of them.
        let mut fastest = Duration::MAX;
        for i in 0..200 {
            let started = Instant::now();
            add(&db, &i.to_string()).await.unwrap();
            fastest = fastest.min(started.elapsed());
            if fastest < MAX_GROUP_TIME {
                return;
            }
        }
        panic!("the fastest write took {fastest:?}");
    });
}

#[test]
fn writes_run_again_after_a_failure_and_are_stored_once() {
    block_on(async {
        let (db, _test) = open(Backend::Sqlite).await;
        add(&db, "warm").await.unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        for round in 0..3 {
            let slow = db.write(|_| {
                std::thread::sleep(Duration::from_millis(5));
                Ok::<_, Error>(())
            });
            let (counted, name) = (runs.clone(), format!("counted {round}"));
            let good = db.write(move |c| {
                counted.fetch_add(1, Ordering::Relaxed);
                insert(c, &Thing::named(&name))
            });
            let panics = db.write(move |c| {
                insert(c, &Thing::named("bad"))?;
                c.transaction::<(), Error, _>(|_| panic!("a bug"))
            });
            let name = format!("last {round}");
            let last = add(&db, &name);
            let (slow, good, panics, last) = tokio::join!(slow, good, panics, last);
            slow.unwrap();
            good.unwrap();
            assert!(matches!(panics, Err(Error::Panicked)));
            last.unwrap();
        }
        // The groups after a repeated one use savepoints.
        let runs = runs.load(Ordering::Relaxed);
        assert!((3..=4).contains(&runs), "{runs} runs of 3 writes");
        let stored = names(&db).await;
        assert_eq!(stored, ["counted 0", "counted 1", "counted 2", "last 0", "last 1", "last 2", "warm"]);
    });
}
