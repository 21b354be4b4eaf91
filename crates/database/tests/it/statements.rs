//! Prepared statements: kept, but not for ever.

use database::{Database, Error, Options};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use testkit::{Backend, TestDatabase};

use crate::support::{migrations, options, things};

/// A query with a text of its own for each number of filters.
async fn ask(db: &Database, filters: usize) {
    let read = db.read(move |c| {
        let all = things::table.select(things::name).into_boxed();
        let query = (0..filters).fold(all, |query, _| query.filter(things::name.ne("x")));
        Ok::<_, Error>(query.load::<String>(c)?)
    });
    assert_eq!(read.await.unwrap(), [""; 0]);
}

/// How many the server has; SQLite does not tell.
async fn kept(db: &Database, backend: Backend) -> Option<i64> {
    let count = sql::<BigInt>("(SELECT count(*) FROM pg_prepared_statements)");
    let count = db.read(move |c| Ok::<_, Error>(diesel::select(count.clone()).get_result(c)?));
    if backend == Backend::Postgres { Some(count.await.unwrap()) } else { None }
}

testkit::on_both! {
    async fn are_kept_and_forgotten_in_time(backend) {
        let test = TestDatabase::empty(backend).await;
        let options = Options { pool_size: 1, ..options(&test.url) };
        let db = Database::open(options, migrations).await.unwrap();
        // Twice: a second connection, which the pool opens meanwhile, may take over once.
        for filters in (0..50).chain(0..50) {
            ask(&db, filters).await;
        }
        assert!(kept(&db, backend).await.is_none_or(|kept| kept >= 50));
        for _ in 0..1000 {
            ask(&db, 1).await;
        }
        assert!(kept(&db, backend).await.is_none_or(|kept| kept < 10));
    }
}
