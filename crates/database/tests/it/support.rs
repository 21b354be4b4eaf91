//! A small schema and helpers for databases that have it.

use std::time::{Duration, Instant};

use database::{
    Amount, AnyConnection, Database, EmbeddedMigrations, Error, Id, Json, Migrations, Options, Timestamp,
};
use diesel::prelude::*;
use include_dir::include_dir;
use testkit::{Backend, TestDatabase};

diesel::table! {
    things (id) {
        id -> database::IdSql,
        name -> Text,
        at -> database::TimestampSql,
        document -> database::JsonSql,
        amount -> BigInt,
    }
}

diesel::table! {
    counters (id) {
        id -> Integer,
        n -> BigInt,
        name -> Nullable<Text>,
    }
}

#[derive(Clone, Debug, PartialEq, Queryable, Insertable, Selectable)]
#[diesel(table_name = things)]
pub(crate) struct Thing {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) at: Timestamp,
    pub(crate) document: Json,
    pub(crate) amount: Amount,
}

impl Thing {
    pub(crate) fn named(name: &str) -> Self {
        let (document, amount) = (Json("{}".into()), Amount::default());
        Self { id: Id::new(), name: name.to_owned(), at: Timestamp::now(), document, amount }
    }
}

pub(crate) fn migrations() -> Vec<Migrations> {
    const SQLITE: EmbeddedMigrations =
        EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/tests/migrations/sqlite"));
    const POSTGRES: EmbeddedMigrations =
        EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/tests/migrations/postgres"));
    vec![Migrations {
        sqlite: SQLITE,
        postgres: POSTGRES,
        shared: false,
        distribution: database::Distribution::default(),
    }]
}

pub(crate) fn options(url: &str) -> Options {
    Options { pool_size: 4, ..testkit::options(url, "things") }
}

pub(crate) async fn open(backend: Backend) -> (Database, TestDatabase) {
    let test = TestDatabase::empty(backend).await;
    (Database::open(options(&test.url), migrations).await.unwrap(), test)
}

/// Opens a database with a short timeout, which also limits each attempt to open it. On a busy machine some attempts
/// fail.
pub(crate) async fn open_with(options: Options) -> Database {
    let begun = Instant::now();
    loop {
        match Database::open(options.clone(), migrations).await {
            Ok(db) => return db,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(30), "{error:?}"),
        }
    }
}

pub(crate) fn insert(c: &mut AnyConnection, thing: &Thing) -> Result<(), Error> {
    diesel::insert_into(things::table).values(thing.clone()).execute(c)?;
    Ok(())
}

pub(crate) async fn add(db: &Database, name: &str) -> Result<(), Error> {
    let thing = Thing::named(name);
    db.write(move |c| insert(c, &thing)).await
}

/// Returns the names of all things, sorted.
pub(crate) async fn names(db: &Database) -> Vec<String> {
    let read = db.read(|c| Ok::<_, Error>(things::table.select(things::name).order(things::name).load(c)?));
    read.await.unwrap()
}
