//! The size of SQLite's write-ahead log: bounded beside readers, and 0 after the database is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use database::{Database, Error, Json};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use testkit::{Backend, TestDatabase, block_on};

use crate::support::{Thing, add, insert, migrations, names, open, options, things};

const MIB: u64 = 1 << 20;

fn log_bytes(test: &TestDatabase) -> u64 {
    let path = format!("{}-wal", test.url.strip_prefix("sqlite://").unwrap());
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Writes a thing of 1 MiB.
async fn write_mebibyte(db: &Database, number: usize) {
    tokio::time::sleep(Duration::from_millis(20)).await;
    let document = Json("x".repeat(1 << 20));
    let thing = Thing { document, ..Thing::named(&format!("{number:04}")) };
    db.write(move |c| insert(c, &thing)).await.unwrap();
}

#[test]
fn log_begins_anew_beside_constant_reads() {
    block_on(async {
        let (db, test) = open(Backend::Sqlite).await;
        add(&db, "first").await.unwrap();
        // At each moment, a reader uses the log.
        let stop = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (db, stop) = (db.clone(), stop.clone());
                tokio::spawn(async move {
                    while !stop.load(Ordering::SeqCst) {
                        let read = db.read(|c| {
                            c.batch_execute("BEGIN")?;
                            let first = things::table.select(things::name).first::<String>(c);
                            std::thread::sleep(Duration::from_millis(5));
                            c.batch_execute("COMMIT")?;
                            Ok::<_, Error>(first.map(drop)?)
                        });
                        read.await.unwrap();
                    }
                })
            })
            .collect();
        // The file becomes smaller only at the first commit after a checkpoint of the whole log. On a busy machine some
        // checkpoints fail, so the number of writes is not fixed.
        let (mut size, mut reductions) = (0, 0);
        for number in 0..500 {
            write_mebibyte(&db, number).await;
            let before = std::mem::replace(&mut size, log_bytes(&test));
            reductions += usize::from(size < before);
            if reductions == 3 {
                break;
            }
        }
        stop.store(true, Ordering::SeqCst);
        for reader in readers {
            reader.await.unwrap();
        }
        assert_eq!(reductions, 3, "the log has {size} bytes");
    });
}

#[test]
fn log_shrinks_after_a_long_read() {
    block_on(async {
        let (db, test) = open(Backend::Sqlite).await;
        add(&db, "first").await.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (started, mut has_started) = tokio::sync::mpsc::channel(1);
        let read = {
            let (db, stop) = (db.clone(), stop.clone());
            tokio::spawn(async move {
                let long = db.read(move |c| {
                    c.batch_execute("BEGIN")?;
                    let before = things::table.count().get_result::<i64>(c)?;
                    started.try_send(()).unwrap();
                    while !stop.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    let after = things::table.count().get_result::<i64>(c)?;
                    c.batch_execute("COMMIT")?;
                    Ok::<_, Error>((before, after))
                });
                long.await.unwrap()
            })
        };
        has_started.recv().await.unwrap();
        for number in 0..20 {
            write_mebibyte(&db, number).await;
        }
        assert!(log_bytes(&test) > 20 * MIB, "the reader needs all of the log: {}", log_bytes(&test));
        stop.store(true, Ordering::SeqCst);
        assert_eq!(read.await.unwrap(), (1, 1));
        tokio::time::sleep(Duration::from_millis(400)).await;
        // The first write makes the checkpoint, and the second one truncates the file.
        for name in ["checkpoint", "truncation"] {
            add(&db, name).await.unwrap();
        }
        assert!(log_bytes(&test) <= 4 * MIB, "{}", log_bytes(&test));
    });
}

#[test]
fn closing_truncates_the_log_and_refuses_writes() {
    block_on(async {
        let (db, test) = open(Backend::Sqlite).await;
        add(&db, "first").await.unwrap();
        assert!(log_bytes(&test) > 0);
        let queued: Vec<_> = (0..50)
            .map(|number| {
                let db = db.clone();
                tokio::spawn(async move { add(&db, &format!("{number:02}")).await })
            })
            .collect();
        tokio::task::yield_now().await;
        db.close().await;
        assert_eq!(log_bytes(&test), 0);
        let mut acknowledged = 1;
        for write in queued {
            acknowledged += usize::from(write.await.unwrap().is_ok());
        }
        let refused = add(&db, "late").await;
        assert!(
            matches!(&refused, Err(Error::Unavailable(_, reason)) if reason.contains("closed")),
            "{refused:?}"
        );
        db.close().await;
        assert_eq!(names(&db).await.len(), acknowledged, "reads go on");
        let again = Database::open(options(&test.url), migrations).await.unwrap();
        assert_eq!(names(&again).await.len(), acknowledged);
    });
}
