//! The VFS of SQLite's connections: the memory map of readers stays while others commit, they see every commit, and a
//! transaction reads back what it wrote to the log.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use database::{AnyConnection, Database, Error, Json, Options};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use testkit::{Backend, TestDatabase, block_on};

use crate::support::{Thing, add, insert, migrations, names, open, options, things};

/// Adds things whose documents fill some pages with their number.
fn add_all(c: &mut AnyConnection, mut numbers: Range<usize>) -> Result<(), Error> {
    numbers.try_for_each(|number| {
        let document = Json(format!("{number:06}").repeat(2000));
        insert(c, &Thing { document, ..Thing::named(&format!("{number:06}")) })
    })
}

/// Adds things with large documents in one commit.
async fn add_large(db: &Database, numbers: Range<usize>) {
    db.write(move |c| add_all(c, numbers.clone())).await.unwrap();
}

/// Reads all things, checks their documents, and returns their number.
fn count_intact(c: &mut AnyConnection) -> Result<usize, Error> {
    let rows: Vec<(String, Json)> =
        things::table.select((things::name, things::document)).order(things::name).load(c)?;
    for (number, (name, Json(document))) in rows.iter().enumerate() {
        assert_eq!(*name, format!("{number:06}"));
        assert!(
            document.len() == 12_000 && document.as_bytes().chunks(6).all(|chunk| chunk == name.as_bytes())
        );
    }
    Ok(rows.len())
}

fn checkpoint(c: &mut AnyConnection) -> Result<(), Error> {
    Ok(c.batch_execute("PRAGMA wal_checkpoint")?)
}

fn assert_intact(c: &mut AnyConnection) -> Result<(), Error> {
    let checked = sql::<Text>("PRAGMA integrity_check").get_result::<String>(c)?;
    assert_eq!(checked, "ok");
    Ok(())
}

fn path(test: &TestDatabase) -> String {
    test.url.strip_prefix("sqlite://").unwrap().to_owned()
}

/// Returns the bytes of a file that this process has in its memory maps.
fn resident_bytes(path: &str) -> usize {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut lines = maps.lines();
    let mut bytes = 0;
    while let Some(line) = lines.next() {
        if line.ends_with(path) {
            let rss = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
            bytes += 1024 * rss.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap();
        }
    }
    bytes
}

#[test]
fn readers_see_each_commit_while_the_file_grows() {
    block_on(async {
        let (db, test) = open(Backend::Sqlite).await;
        let (stop, committed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let (db, stop, committed) = (db.clone(), stop.clone(), committed.clone());
                tokio::spawn(async move {
                    let mut reads = 0;
                    while !stop.load(Ordering::SeqCst) {
                        let expected = committed.load(Ordering::SeqCst);
                        let found = db.read(count_intact).await.unwrap();
                        assert!(found >= expected, "{found} of {expected}");
                        reads += 1;
                    }
                    reads
                })
            })
            .collect();
        for number in 0..200 {
            add_large(&db, number..number + 1).await;
            committed.store(number + 1, Ordering::SeqCst);
            if number % 20 == 0 {
                db.read(checkpoint).await.unwrap();
            }
        }
        stop.store(true, Ordering::SeqCst);
        for reader in readers {
            assert!(reader.await.unwrap() > 0);
        }
        db.read(assert_intact).await.unwrap();
        assert!(std::fs::metadata(path(&test)).unwrap().len() > 150 * 12_000);
    });
}

#[test]
fn commits_leave_the_map_of_readers() {
    block_on(async {
        let test = TestDatabase::empty(Backend::Sqlite).await;
        let db = Database::open(Options { pool_size: 1, ..options(&test.url) }, migrations).await.unwrap();
        add_large(&db, 0..200).await;
        db.read(checkpoint).await.unwrap();
        // The first read after the growth maps the file, the second one reads all of it.
        for _ in 0..2 {
            assert_eq!(db.read(count_intact).await.unwrap(), 200);
        }
        let path = path(&test);
        let before = resident_bytes(&path);
        assert!(before > 1_000_000, "{before}");
        for number in 200..203 {
            add_large(&db, number..number + 1).await;
            // Reads few pages, so a new map would be nearly empty.
            let one = db.read(move |c| {
                Ok::<_, Error>(things::table.select(things::name).first::<String>(c).map(drop)?)
            });
            one.await.unwrap();
            let after = resident_bytes(&path);
            assert!(after >= before, "{after} of {before} bytes are left");
        }
    });
}

#[test]
fn files_that_others_truncate_and_extend_are_read_correctly() {
    block_on(async {
        let (db, test) = open(Backend::Sqlite).await;
        add_large(&db, 0..300).await;
        db.read(checkpoint).await.unwrap();
        assert_eq!(db.read(count_intact).await.unwrap(), 300);
        let bytes = || std::fs::metadata(path(&test)).unwrap().len();
        let large = bytes();
        for round in 0..2 {
            db.write(|c| {
                let removed = diesel::delete(things::table.filter(things::name.ge("000020"))).execute(c)?;
                assert_eq!(removed, 280);
                Ok::<_, Error>(())
            })
            .await
            .unwrap();
            test.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
            assert!(bytes() < large / 4, "{} of {large} in round {round}", bytes());
            assert_eq!(db.read(count_intact).await.unwrap(), 20);
            for first in (20..300).step_by(28) {
                add_large(&db, first..first + 28).await;
                if first % 3 == 0 {
                    db.read(checkpoint).await.unwrap();
                }
                assert_eq!(db.read(count_intact).await.unwrap(), first + 28);
            }
            test.execute("PRAGMA wal_checkpoint(TRUNCATE)");
            assert!(bytes() >= large * 9 / 10);
            assert_eq!(db.read(count_intact).await.unwrap(), 300);
        }
        db.read(assert_intact).await.unwrap();
    });
}

#[test]
fn a_transaction_larger_than_the_cache_reads_its_pages_back() {
    block_on(async {
        let (db, _test) = open(Backend::Sqlite).await;
        let counted = db.write(|c| {
            // SQLite moves pages that do not fit from the cache to the log.
            c.batch_execute("PRAGMA cache_size=10")?;
            add_all(c, 0..200)?;
            c.batch_execute("SAVEPOINT more")?;
            add_all(c, 200..300)?;
            assert_eq!(count_intact(c)?, 300);
            c.batch_execute("ROLLBACK TO more")?;
            add_all(c, 200..220)?;
            count_intact(c)
        });
        assert_eq!(counted.await.unwrap(), 220);
        assert_eq!(db.read(count_intact).await.unwrap(), 220);
        db.read(checkpoint).await.unwrap();
        assert_eq!(db.read(count_intact).await.unwrap(), 220);
        db.read(assert_intact).await.unwrap();
    });
}

#[test]
fn a_failed_transaction_writes_nothing_over_commits_of_others() {
    block_on(async {
        let (db, test) = open(Backend::Sqlite).await;
        add_large(&db, 0..100).await;
        test.execute("PRAGMA wal_checkpoint(TRUNCATE)");
        let failed = db.write(|c| {
            c.batch_execute("PRAGMA cache_size=10")?;
            add_all(c, 100..110)?;
            Err::<(), _>(Error::Setup("failed".to_owned()))
        });
        assert!(matches!(failed.await, Err(Error::Setup(_))));
        test.execute("CREATE TABLE others (n INTEGER); INSERT INTO others VALUES (1)");
        for number in 100..103 {
            add_large(&db, number..number + 1).await;
            assert_eq!(db.read(count_intact).await.unwrap(), number + 1);
        }
        let others = db.read(|c| Ok::<_, Error>(sql::<BigInt>("SELECT n FROM others").get_result::<i64>(c)?));
        assert_eq!(others.await.unwrap(), 1);
        db.read(assert_intact).await.unwrap();
    });
}

#[test]
fn special_characters_in_paths_are_kept() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a %25#&=ü.sqlite");
        let url = format!("sqlite://{}", file.display());
        let db = Database::open(options(&url), migrations).await.unwrap();
        add(&db, "one").await.unwrap();
        assert_eq!(names(&db).await, ["one"]);
        assert!(file.exists());
    });
}
