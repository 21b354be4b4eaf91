//! Writes of one statement, which PostgreSQL commits by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use database::{Cause, Database, Error};
use diesel::RunQueryDsl;
use testkit::{Backend, block_on};

use crate::support::{Thing, insert, names, open};

async fn add_statement(db: &Database, name: &str) -> Result<(), Error> {
    let thing = Thing::named(name);
    db.write_statement(move |c| insert(c, &thing)).await
}

testkit::on_both! {
    async fn statements_are_committed_once(backend) {
        let (db, _test) = open(backend).await;
        let added = ["a", "b", "c"].map(|name| add_statement(&db, name));
        for result in futures_util::future::join_all(added).await {
            result.unwrap();
        }
        let thing = Thing::named("twice");
        let copy = thing.clone();
        db.write_statement(move |c| insert(c, &thing)).await.unwrap();
        let repeated = db.write_statement(move |c| insert(c, &copy)).await;
        assert!(repeated.unwrap_err().is_unique_violation("things"));
        assert_eq!(names(&db).await, ["a", "b", "c", "twice"]);
    }
}

/// Idle connections are checked first. So a restarted server fails no statement.
#[test]
fn terminated_idle_connections_to_postgres_are_replaced() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        for name in ["a", "b", "c"] {
            add_statement(&db, name).await.unwrap();
            test.terminate_connections();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(names(&db).await, ["a", "b", "c"]);
    });
}

/// The connection is lost after the statement was sent: it may be committed, so it does not run again.
#[test]
fn lost_connections_to_postgres_leave_the_outcome_unknown() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        let (runs, name) = (Arc::new(AtomicU32::new(0)), test.name().to_owned());
        let counted = runs.clone();
        let written = db.write_statement(move |c| {
            counted.fetch_add(1, Ordering::SeqCst);
            let kill =
                format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
            diesel::sql_query(kill).execute(c)?;
            Ok::<_, Error>(())
        });
        let result = written.await;
        assert!(matches!(result, Err(Error::CommitUnknown(_))), "{result:?}");
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    });
}

/// PostgreSQL reports the row first and then the failed commit. The statement is not acknowledged.
#[test]
fn failures_of_postgres_at_the_commit_are_reported() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        test.execute(
            "CREATE FUNCTION things.fail() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE EXCEPTION 'refused at the commit'; END $$;
             CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON things.things DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION things.fail()",
        );
        let error = add_statement(&db, "refused").await.unwrap_err();
        assert!(error.to_string().contains("refused at the commit"), "{error:?}");
        assert_eq!(names(&db).await, [""; 0]);
        test.execute("DROP TRIGGER refused ON things.things");
        add_statement(&db, "accepted").await.unwrap();
        assert_eq!(names(&db).await, ["accepted"]);
    });
}

/// The server reports these failures, so nothing was changed.
#[test]
fn failures_of_the_statement_on_postgres_are_known() {
    block_on(async {
        let (db, test) = open(Backend::Postgres).await;
        test.execute(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", test.name()));
        test.terminate_connections();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let result = add_statement(&db, "x").await;
        assert!(matches!(result, Err(Error::Unavailable(Cause::ReadOnly, _))), "{result:?}");
    });
}
