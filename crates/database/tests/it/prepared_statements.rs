//! The cache of prepared statements.

use std::time::{Duration, Instant};

use database::{AnyConnection, Database, Error, Options};
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};
use testkit::{Backend, TestDatabase};

use crate::support::{migrations, options, things};

/// Runs a query whose text depends on the number of filters.
async fn run_query(db: &Database, filters: usize) {
    let read = db.read(move |c| {
        let all = things::table.select(things::name).into_boxed();
        let query = (0..filters).fold(all, |query, _| query.filter(things::name.ne("x")));
        Ok::<_, Error>(query.load::<String>(c)?)
    });
    assert_eq!(read.await.unwrap(), [""; 0]);
}

/// The process id of a session of PostgreSQL.
type SessionId = i32;

fn session_id() -> SqlLiteral<Integer> {
    sql("pg_backend_pid()")
}

/// Returns the session and the number of its prepared statements; `None` on SQLite, which does not report it.
async fn prepared_statements(db: &Database, backend: Backend) -> Option<(SessionId, i64)> {
    let columns = || (session_id(), sql::<BigInt>("(SELECT count(*) FROM pg_prepared_statements)"));
    let read = db.read(move |c| Ok::<_, Error>(diesel::select(columns()).get_result(c)?));
    if backend == Backend::Postgres { Some(read.await.unwrap()) } else { None }
}

/// Opens a database that runs one call at once. On PostgreSQL its pool nevertheless opens a second connection at the
/// first call, and uses that from then on if it is ready between two calls. So this makes a first call that lasts until
/// there are two connections. On a busy machine the pool may still switch later: see [`SessionId`].
async fn open_with_one_connection(backend: Backend) -> (Database, TestDatabase) {
    let test = TestDatabase::empty(backend).await;
    let db = Database::open(Options { pool_size: 1, ..options(&test.url) }, migrations).await.unwrap();
    if backend == Backend::Postgres {
        let connections = "(SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend')";
        let first = db.read(move |c| {
            let begun = Instant::now();
            while diesel::select(sql::<BigInt>(connections)).get_result::<i64>(c)? < 2 {
                assert!(begun.elapsed() < Duration::from_secs(10), "the pool opens no second connection");
                std::thread::sleep(Duration::from_millis(10));
            }
            // The pool gets the connection a moment after the server has accepted it.
            std::thread::sleep(Duration::from_millis(100));
            Ok::<_, Error>(())
        });
        first.await.unwrap();
    }
    (db, test)
}

/// Runs a test in databases of [`open_with_one_connection`] until one has used only one session. The test returns the
/// sessions that it has seen.
async fn in_one_session<T>(backend: Backend, test: impl AsyncFn(&Database) -> Vec<(SessionId, T)>) -> Vec<T> {
    for _ in 0..5 {
        let (db, _test) = open_with_one_connection(backend).await;
        let results = test(&db).await;
        if results.iter().all(|(session, _)| *session == results[0].0) {
            return results.into_iter().map(|(_, result)| result).collect();
        }
    }
    panic!("the pool switches to another connection each time");
}

testkit::on_both! {
    async fn statements_are_cached_and_later_discarded_if_they_are_many(backend) {
        let counts = in_one_session(backend, async |db| {
            let mut counts = Vec::from_iter(prepared_statements(db, backend).await);
            for statements in [50, 150] {
                for filters in 0..statements {
                    run_query(db, filters).await;
                }
                counts.extend(prepared_statements(db, backend).await);
                for _ in 0..1000 {
                    run_query(db, 1).await;
                }
                counts.extend(prepared_statements(db, backend).await);
            }
            counts
        });
        let counts = counts.await;
        if backend == Backend::Postgres {
            let expected = [0..10, 50..60, 50..60, 150..210, 0..10];
            let is_expected = expected.iter().zip(&counts).all(|(range, count)| range.contains(count));
            assert!(is_expected && counts.len() == expected.len(), "{counts:?}");
        }
    }
}

/// Returns the session, its settings, and the numbers of its executions with each kind of plan.
fn plans(c: &mut AnyConnection) -> Result<(SessionId, (String, i64, i64)), Error> {
    let counts =
        "(SELECT sum(generic_plans)::bigint FROM pg_prepared_statements WHERE statement LIKE '%LIMIT%')";
    let plans = (
        sql::<Text>("current_setting('plan_cache_mode') || ' ' || current_setting('enable_sort')"),
        sql::<BigInt>(counts),
        sql::<BigInt>(&counts.replace("generic", "custom")),
    );
    Ok(diesel::select((session_id(), plans)).get_result(c)?)
}

/// Each mode has a connection of its own, so that no call changes the mode of a session.
#[test]
fn sessions_of_postgres_keep_their_mode_and_plans() {
    testkit::block_on(async {
        let read = |c: &mut AnyConnection| {
            let page = things::table.filter(things::name.ge("a")).order(things::name).limit(2);
            page.select(things::name).load::<String>(c)?;
            plans(c)
        };
        let (db, _test) = open_with_one_connection(Backend::Postgres).await;
        let mut sessions = [0, 0];
        for n in 1_i64..=5 {
            for (is_generic, expected) in
                [(true, ("force_generic_plan off", n, 0)), (false, ("force_custom_plan on", 0, n))]
            {
                let result =
                    if is_generic { db.read_with_reusable_plan(read).await } else { db.read(read).await };
                let (session, (settings, generic, custom)) = result.unwrap();
                assert_eq!((settings.as_str(), generic, custom), expected);
                let own = &mut sessions[usize::from(is_generic)];
                assert!(n == 1 || session == *own, "{session} {own}");
                *own = session;
            }
        }
    });
}
