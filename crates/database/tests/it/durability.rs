//! Settings of connections, and overwriting of deleted rows.

use database::{AnyConnection, Database, Error, Json};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use testkit::{Backend, block_on};

use crate::support::{Thing, insert, open, things};

fn pragma(c: &mut AnyConnection, name: &str) -> Result<String, Error> {
    let one =
        |c: &mut AnyConnection| diesel::dsl::sql::<Integer>(&format!("PRAGMA {name}")).get_result::<i32>(c);
    let text =
        |c: &mut AnyConnection| diesel::dsl::sql::<Text>(&format!("PRAGMA {name}")).get_result::<String>(c);
    Ok(if name == "journal_mode" { text(c)? } else { one(c)?.to_string() })
}

#[test]
fn every_sqlite_connection_has_its_pragmas() {
    block_on(async {
        let (db, _test) = open(Backend::Sqlite).await;
        let both =
            ["journal_mode", "synchronous", "foreign_keys", "busy_timeout", "query_only", "secure_delete"];
        let all = move |c: &mut AnyConnection| -> Result<Vec<String>, Error> {
            both.iter().map(|name| pragma(c, name)).collect()
        };
        // synchronous=2 is FULL: the log is synced with every commit.
        assert_eq!(db.write(all).await.unwrap(), ["wal", "2", "1", "5000", "0", "2"]);
        assert_eq!(db.read(all).await.unwrap(), ["wal", "2", "1", "5000", "1", "0"]);
    });
}

#[test]
fn deleted_rows_are_overwritten_in_the_sqlite_file() {
    block_on(async {
        let (db, test) = open(Backend::Sqlite).await;
        let path = test.url.strip_prefix("sqlite://").unwrap().to_owned();
        // Documents 2 and 3 are longer than a page and use overflow pages.
        let secret = |i: usize| format!("secret {i} ").repeat([10, 600, 4000][i % 3]);
        let things: Vec<_> =
            (0..60).map(|i| Thing { document: Json(secret(i)), ..Thing::named(&i.to_string()) }).collect();
        for thing in things.clone() {
            db.write(move |c| insert(c, &thing)).await.unwrap();
        }
        checkpoint(&db).await;
        let is_in_file = || String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains("secret");
        assert!(is_in_file());
        for thing in things {
            let delete = move |c: &mut AnyConnection| {
                database::with_secure_delete(c, |c| {
                    Ok::<_, Error>(diesel::delete(things::table.find(thing.id)).execute(c)?)
                })
            };
            assert_eq!(db.write(delete).await.unwrap(), 1);
        }
        checkpoint(&db).await;
        assert!(!is_in_file());
    });
}

/// Copies the write-ahead log into the database file.
async fn checkpoint(db: &Database) {
    db.read(|c| Ok::<_, Error>(c.batch_execute("PRAGMA wal_checkpoint")?)).await.unwrap();
}

#[test]
fn reads_cannot_write() {
    block_on(async {
        let (db, _test) = open(Backend::Sqlite).await;
        let refused = db.read(|c| {
            diesel::delete(crate::support::counters::table).execute(c)?;
            Ok::<_, Error>(())
        });
        assert!(refused.await.is_err());
    });
}

#[test]
fn every_postgres_connection_has_its_settings() {
    block_on(async {
        let (db, _test) = open(Backend::Postgres).await;
        let settings = db.read(|c| {
            let sql = "current_setting('search_path') || ' ' || current_setting('TimeZone') || ' ' || \
                       current_setting('statement_timeout') || ' ' || current_setting('lock_timeout')";
            Ok::<_, Error>(diesel::select(diesel::dsl::sql::<Text>(sql)).get_result::<String>(c)?)
        });
        assert_eq!(settings.await.unwrap(), "things UTC 1min 5s");
        let level = db.write(|c| {
            let sql = diesel::dsl::sql::<Text>("current_setting('transaction_isolation')");
            Ok::<_, Error>(diesel::select(sql).get_result::<String>(c)?)
        });
        assert_eq!(level.await.unwrap(), "repeatable read");
    });
}
