//! The cache of prepared statements.

use database::{Database, Error, Options};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
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

testkit::on_both! {
    async fn statements_are_cached_and_later_discarded(backend) {
        let test = TestDatabase::empty(backend).await;
        let options = Options { pool_size: 1, ..options(&test.url) };
        let db = Database::open(options, migrations).await.unwrap();
        // Twice, since the pool may switch to a second connection once.
        for filters in (0..50).chain(0..50) {
            run_query(&db, filters).await;
        }
        assert!(prepared_statements(&db, backend).await.is_none_or(|count| count >= 50));
        for _ in 0..1000 {
            run_query(&db, 1).await;
        }
        assert!(prepared_statements(&db, backend).await.is_none_or(|count| count < 10));
    }
}
