//! Calls that share few sessions.

use std::collections::BTreeSet;

use database::{AnyConnection, Database, Error, Options, Pooler};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};
use futures_util::future::join_all;
use testkit::block_on;

use super::{open, pooled, start};
use crate::support::{Thing, add, insert, migrations, names, things};

/// Returns settings of the session, the process id of its backend and the number of its prepared statements.
fn session(c: &mut AnyConnection) -> Result<(String, i32, i64), Error> {
    let settings = ["search_path", "TimeZone", "statement_timeout", "lock_timeout", "jit", "enable_sort"];
    let settings = settings.map(|name| format!("current_setting('{name}')")).join(" || ' ' || ");
    let columns = (
        sql::<Text>(&settings),
        sql::<Integer>("pg_backend_pid()"),
        sql::<BigInt>("(SELECT count(*) FROM pg_prepared_statements)"),
    );
    Ok(diesel::select(columns).get_result(c)?)
}

/// Reads rows by a statement that Diesel would prepare, and returns the session.
fn read(c: &mut AnyConnection) -> Result<(String, i32, i64), Error> {
    things::table.filter(things::name.ge("a")).select(things::name).limit(3).load::<String>(c)?;
    session(c)
}

/// Calls of every kind, one after the other. Returns the sessions that they ran in.
async fn use_database(db: Database, caller: usize) -> Vec<(String, i32, i64)> {
    let mut sessions = Vec::new();
    for n in 0..20 {
        add(&db, &format!("transaction {caller} {n}")).await.unwrap();
        let thing = Thing::named(&format!("statement {caller} {n}"));
        db.write_statement(move |c| insert(c, &thing)).await.unwrap();
        sessions.push(db.read(read).await.unwrap());
        let (settings, id, prepared) = db.read_with_reusable_plan(read).await.unwrap();
        assert_eq!(settings, "things UTC 1min 5s off off");
        sessions.push((settings.replace("off off", "off on"), id, prepared));
        let level = db.write(|c| {
            let level = sql::<Text>("current_setting('transaction_isolation')");
            Ok::<_, Error>((diesel::select(level).get_result::<String>(c)?, session(c)?))
        });
        let (level, session) = level.await.unwrap();
        assert_eq!(level, "repeatable read");
        sessions.push(session);
    }
    sessions
}

#[test]
fn eight_callers_share_two_sessions() {
    block_on(async {
        let (db, _test, _pooler) = open(2).await;
        let callers = (0..8).map(|caller| tokio::spawn(use_database(db.clone(), caller)));
        let (mut settings, mut backends) = (BTreeSet::new(), BTreeSet::new());
        for sessions in join_all(callers).await {
            for (text, backend, prepared) in sessions.unwrap() {
                assert_eq!(prepared, 0, "a pooler does not know prepared statements");
                settings.insert(text);
                backends.insert(backend);
            }
        }
        assert_eq!(settings, BTreeSet::from(["things UTC 1min 5s off on".to_owned()]));
        assert_eq!(backends.len(), 2);
        assert_eq!(names(&db).await.len(), 8 * 20 * 2);
    });
}

#[test]
fn settings_end_with_the_transaction() {
    block_on(async {
        let (db, test, pooler) = open(1).await;
        add(&db, "x").await.unwrap();
        names(&db).await;
        let url = pooler.url(&test);
        let other = tokio::task::spawn_blocking(move || {
            let mut c = PgConnection::establish(&url).unwrap();
            let settings = ["search_path", "application_name", "jit", "lock_timeout"];
            let settings = settings.map(|name| format!("current_setting('{name}')")).join(" || '|' || ");
            diesel::select(sql::<Text>(&settings)).get_result::<String>(&mut c).unwrap()
        });
        assert_eq!(other.await.unwrap(), "\"$user\", public||on|0");
    });
}

/// The same without a pooler, where nothing hides that statements run outside of a transaction.
#[test]
fn every_call_is_one_transaction() {
    block_on(async {
        let (test, _pooler) = start(1).await;
        let db = Database::open(pooled(&test.url), migrations).await.unwrap();
        let in_transaction = |c: &mut AnyConnection| -> Result<bool, Error> {
            let name = "current_setting('application_name')";
            let first = diesel::select(sql::<Text>(name)).get_result::<String>(c)?;
            c.batch_execute("SAVEPOINT here; RELEASE SAVEPOINT here")?;
            let second = diesel::select(sql::<Text>(name)).get_result::<String>(c)?;
            Ok(first == second && first.starts_with("things "))
        };
        assert!(db.read(in_transaction).await.unwrap());
        assert!(db.read_with_reusable_plan(in_transaction).await.unwrap());
        assert!(db.write(in_transaction).await.unwrap());
        assert!(db.write_statement(in_transaction).await.unwrap());
    });
}

#[test]
fn sqlite_has_no_pooler() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("x.sqlite").display());
        let options = Options { pooler: Pooler::Transaction, ..pooled(&url) };
        let Some(Error::Setup(sentence)) = Database::open(options, migrations).await.err() else {
            panic!("opened");
        };
        assert!(sentence.starts_with("database.pooler (DROVER_DATABASE__POOLER)"), "{sentence}");
    });
}
