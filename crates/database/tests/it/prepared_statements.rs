//! The cache of prepared statements.

use database::{AnyConnection, Database, Error, Options};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
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

/// Returns the number of prepared statements of the session; `None` on SQLite, which does not report it.
async fn prepared_statements(db: &Database, backend: Backend) -> Option<i64> {
    let count = sql::<BigInt>("(SELECT count(*) FROM pg_prepared_statements)");
    let count = db.read(move |c| Ok::<_, Error>(diesel::select(count.clone()).get_result(c)?));
    if backend == Backend::Postgres { Some(count.await.unwrap()) } else { None }
}

async fn open_with_one_connection(backend: Backend) -> (Database, TestDatabase) {
    let test = TestDatabase::empty(backend).await;
    let options = Options { pool_size: 1, ..options(&test.url) };
    (Database::open(options, migrations).await.unwrap(), test)
}

testkit::on_both! {
    async fn statements_are_cached_and_later_discarded_if_they_are_many(backend) {
        let (db, _test) = open_with_one_connection(backend).await;
        // Twice, since the pool may switch to a second connection once.
        for (statements, kept) in [(50, 50..60), (150, 0..10)] {
            for filters in (0..statements).chain(0..statements) {
                run_query(&db, filters).await;
            }
            let is_cached = |count| i64::try_from(statements).unwrap() <= count;
            assert!(prepared_statements(&db, backend).await.is_none_or(is_cached));
            for _ in 0..1000 {
                run_query(&db, 1).await;
            }
            let count = prepared_statements(&db, backend).await;
            assert!(count.is_none_or(|count| kept.contains(&count)), "{count:?} of {statements}");
        }
    }
}

/// Returns the settings of the session and the numbers of its executions with each kind of plan.
fn plans(c: &mut AnyConnection) -> Result<(String, i64, i64), Error> {
    let counts =
        "(SELECT sum(generic_plans)::bigint FROM pg_prepared_statements WHERE statement LIKE '%LIMIT%')";
    let columns = (
        sql::<Text>("current_setting('plan_cache_mode') || ' ' || current_setting('enable_sort')"),
        sql::<BigInt>(counts),
        sql::<BigInt>(&counts.replace("generic", "custom")),
    );
    Ok(diesel::select(columns).get_result(c)?)
}

#[test]
fn reads_in_index_order_keep_their_plan() {
    testkit::block_on(async {
        let (db, _test) = open_with_one_connection(Backend::Postgres).await;
        let read = |c: &mut AnyConnection| {
            let page = things::table.filter(things::name.ge("a")).order(things::name).limit(2);
            page.select(things::name).load::<String>(c)?;
            plans(c)
        };
        for n in 1..=3 {
            assert_eq!(
                db.read_in_index_order(read).await.unwrap(),
                ("force_generic_plan off".into(), n, n - 1)
            );
            assert_eq!(db.read(read).await.unwrap(), ("force_custom_plan on".into(), n, n));
        }
    });
}
