//! Guarantees of `Database::write` on both databases.

use std::time::{Duration, Instant};

use database::Error;
use diesel::prelude::*;
use futures_util::future::join_all;

use crate::support::{Thing, add, counters, insert, names, open};

testkit::on_both! {
    async fn acknowledged_writes_are_visible(backend) {
        let (db, _test) = open(backend).await;
        for i in 0..20 {
            add(&db, &format!("{i:02}")).await.unwrap();
            assert_eq!(names(&db).await.len(), i + 1);
        }
    }

    async fn errors_roll_back(backend) {
        let (db, _test) = open(backend).await;
        let refused = db.write(|c| -> Result<(), Error> {
            insert(c, &Thing::named("half"))?;
            Err(Error::Setup("no".into()))
        });
        assert!(matches!(refused.await, Err(Error::Setup(_))));
        assert_eq!(names(&db).await, [""; 0]);
    }

    async fn failed_statements_roll_back(backend) {
        let (db, _test) = open(backend).await;
        add(&db, "taken").await.unwrap();
        let refused = db.write(|c| {
            insert(c, &Thing::named("half"))?;
            insert(c, &Thing::named("taken"))
        });
        assert!(refused.await.unwrap_err().is_unique_violation("things"));
        assert_eq!(names(&db).await, ["taken"]);
        add(&db, "next").await.unwrap();
    }

    async fn concurrent_increments_are_not_lost(backend) {
        let (db, _test) = open(backend).await;
        let increment = |_| db.write(|c| {
            let n: i64 = counters::table.find(1).select(counters::n).first(c)?;
            diesel::update(counters::table.find(1)).set(counters::n.eq(n + 1)).execute(c)?;
            Ok::<_, Error>(())
        });
        for result in join_all((0..100).map(increment)).await {
            result.unwrap();
        }
        let n = db.read(|c| Ok::<_, Error>(counters::table.find(1).select(counters::n).first::<i64>(c)?));
        assert_eq!(n.await.unwrap(), 100);
    }

    async fn panics_roll_back_without_affecting_other_writes(backend) {
        let (db, _test) = open(backend).await;
        let panicking = |i: usize| {
            let db = db.clone();
            async move {
                let name = format!("{i:02}");
                db.write(move |c| {
                    insert(c, &Thing::named(&name))?;
                    assert!(!i.is_multiple_of(4), "a panic of the test");
                    Ok::<_, Error>(())
                }).await
            }
        };
        for (i, result) in join_all((0..12).map(panicking)).await.into_iter().enumerate() {
            match i % 4 {
                0 => assert!(matches!(result, Err(Error::Panicked)), "{result:?}"),
                _ => result.unwrap(),
            }
        }
        assert_eq!(names(&db).await.len(), 9);
        let read = db.read(|_| -> Result<(), Error> { panic!("a panic of the test") });
        assert!(matches!(read.await, Err(Error::Panicked)));
        assert_eq!(names(&db).await.len(), 9);
    }

    async fn panics_within_a_savepoint_roll_back_the_whole_write(backend) {
        let (db, test) = open(backend).await;
        let panicking = db.write(|c| {
            insert(c, &Thing::named("outer"))?;
            c.transaction(|c| -> Result<(), Error> {
                insert(c, &Thing::named("inner"))?;
                panic!("a panic of the test")
            })
        });
        let good = add(&db, "good");
        let (panicked, good) = tokio::join!(panicking, good);
        assert!(matches!(panicked, Err(Error::Panicked)));
        good.unwrap();
        assert_eq!(names(&db).await, ["good"]);
        // The committed state, which a new connection reads.
        drop(db);
        let again = database::Database::open(crate::support::options(&test.url), crate::support::migrations);
        assert_eq!(names(&again.await.unwrap()).await, ["good"]);
    }

    async fn unique_violations_identify_the_table(backend) {
        let (db, _test) = open(backend).await;
        add(&db, "taken").await.unwrap();
        let error = add(&db, "taken").await.unwrap_err();
        assert!(error.is_unique_violation("things") && !error.is_unique_violation("counters"), "{error:?}");
        assert!(!error.is_unique_violation("thing"));
        let error = db.write(|c| {
            let row = (counters::id.eq(1), counters::n.eq(5));
            diesel::insert_into(counters::table).values(row).execute(c)?;
            Ok::<_, Error>(())
        }).await.unwrap_err();
        assert!(error.is_unique_violation("counters") && !error.is_unique_violation("things"), "{error:?}");
    }

    async fn cancelled_callers_do_not_cancel_running_writes(backend) {
        let (db, _test) = open(backend).await;
        let (started, mut has_started) = tokio::sync::mpsc::channel(1);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let thing = Thing::named("slow");
        let write = db.write(move |c| {
            let _ = started.try_send(());
            let _ = released.recv();
            insert(c, &thing)
        });
        tokio::select! {
            result = write => panic!("the write has ended: {result:?}"),
            Some(()) = has_started.recv() => {} // drops the write
        }
        release.send(()).unwrap();
        add(&db, "next").await.unwrap();
        // PostgreSQL commits the writes on different connections.
        let begun = Instant::now();
        while names(&db).await != ["next", "slow"] {
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", names(&db).await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
