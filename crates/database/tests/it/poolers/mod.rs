//! PgBouncer that gives each transaction another session.

mod calls;
mod failures;
mod migrations;

use database::{Database, Options, Pooler};
use testkit::{Backend, PgBouncer, TestDatabase};

use crate::support::{migrations, options};

/// Options of a database through a pooler.
fn pooled(url: &str) -> Options {
    Options { pooler: Pooler::Transaction, pool_size: 8, ..options(url) }
}

/// Opens a database through a PgBouncer that has this many connections to the server.
async fn open(server_connections: u16) -> (Database, TestDatabase, PgBouncer) {
    let (test, pooler) = start(server_connections).await;
    let db = Database::open(pooled(&pooler.url(&test)), migrations).await.unwrap();
    (db, test, pooler)
}

/// Creates a database and starts PgBouncer.
async fn start(server_connections: u16) -> (TestDatabase, PgBouncer) {
    (TestDatabase::empty(Backend::Postgres).await, PgBouncer::start(server_connections))
}
