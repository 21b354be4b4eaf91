//! Migrations run once each under concurrent starts, and failed ones are rolled back.

use std::time::{Duration, Instant};

use database::{Database, EmbeddedMigrations, Error, Migrations};
use diesel::prelude::*;
use futures_util::future::join_all;
use include_dir::include_dir;
use testkit::{Backend, TestDatabase};

use crate::support::{add, migrations, names, options};

pub(crate) fn with_broken() -> Vec<Migrations> {
    const SQLITE: EmbeddedMigrations =
        EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/tests/broken/sqlite"));
    const POSTGRES: EmbeddedMigrations =
        EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/tests/broken/postgres"));
    migrations()
        .into_iter()
        .chain([Migrations {
            sqlite: SQLITE,
            postgres: POSTGRES,
            shared: false,
            distribution: database::Distribution::default(),
        }])
        .collect()
}

testkit::on_both! {
    async fn concurrent_openers_apply_each_migration_once(backend) {
        let test = TestDatabase::empty(backend).await;
        let opened = join_all((0..6).map(|_| {
            let options = options(&test.url);
            async move { tokio::spawn(Database::open(options, migrations)).await.unwrap() }
        })).await;
        for (i, db) in opened.into_iter().enumerate() {
            add(&db.unwrap(), &i.to_string()).await.unwrap();
        }
        let db = Database::open(options(&test.url), migrations).await.unwrap();
        assert_eq!(names(&db).await.len(), 6);
    }

    async fn migrate_returns_applied_migrations(backend) {
        let test = TestDatabase::empty(backend).await;
        let options = options(&test.url);
        let applied = Database::migrate(&options, migrations()).unwrap();
        assert_eq!(applied, ["20270101000000_create_things"]);
        assert_eq!(Database::migrate(&options, migrations()).unwrap(), [""; 0]);
    }

    async fn rejects_two_migrations_with_one_version(backend) {
        let test = TestDatabase::empty(backend).await;
        let twice = || migrations().into_iter().chain(migrations()).collect();
        let Some(Error::Setup(sentence)) = Database::open(options(&test.url), twice).await.err() else {
            panic!("opened");
        };
        assert!(sentence.contains("20270101000000_create_things"), "{sentence}");
    }

    async fn failed_migrations_are_rolled_back_and_release_the_lock(backend) {
        let test = TestDatabase::empty(backend).await;
        let broken = Database::open(options(&test.url), with_broken).await.err();
        let Some(Error::Setup(sentence)) = broken else { panic!("{broken:?}") };
        let failure = "the migration 20270102000000_break failed and was rolled back: ";
        assert!(sentence.starts_with(failure) && sentence.contains("nowhere"), "{sentence}");
        assert!(!sentence.contains('\n'), "{sentence}");
        let started = Instant::now();
        let db = Database::open(options(&test.url), migrations).await.unwrap();
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        let half = db.read(|c| {
            diesel::sql_query("SELECT * FROM half").execute(c)?;
            Ok::<_, Error>(())
        });
        assert!(half.await.is_err());
    }

    async fn unreadable_table_of_migrations_is_not_reported_as_a_failed_migration(backend) {
        let test = TestDatabase::empty(backend).await;
        let options = options(&test.url);
        test.execute(&match backend {
            Backend::Sqlite => "CREATE TABLE __diesel_schema_migrations (id INTEGER)".to_owned(),
            Backend::Postgres => format!(
                "CREATE SCHEMA {0}; CREATE TABLE {0}.__diesel_schema_migrations (id INTEGER)", options.schema
            ),
        });
        let migrated = Database::migrate(&options, migrations()).err();
        let Some(Error::Setup(sentence)) = migrated else { panic!("{migrated:?}") };
        let failure = "the table __diesel_schema_migrations cannot be read, and no migration was run: ";
        assert!(sentence.starts_with(failure), "{sentence}");
        assert!(!sentence.contains('\n'), "{sentence}");
    }
}

#[tokio::test]
async fn postgres_role_without_create_privilege_migrates_its_own_schema() {
    let test = TestDatabase::empty(Backend::Postgres).await;
    let (role, schema) = (format!("role_{}", test.name()), options(&test.url).schema);
    test.execute(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'own'; ALTER ROLE {role} SET lc_messages = 'C';
         CREATE SCHEMA {schema} AUTHORIZATION {role}"
    ));
    let (_, server) = test.url.split_once('@').unwrap();
    let own = options(&format!("postgres://{role}:own@{server}"));
    let migrated = tokio::task::spawn_blocking(move || Database::migrate(&own, migrations())).await.unwrap();
    // Roles belong to the server, so this one is dropped before the assertion.
    test.execute(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}"));
    assert_eq!(migrated.unwrap(), ["20270101000000_create_things"]);
}
