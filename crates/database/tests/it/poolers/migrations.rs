//! Migrations through a pooler.

use database::{Database, Error};
use futures_util::future::join_all;
use testkit::block_on;

use super::{pooled, start};
use crate::migrations::with_broken;
use crate::support::{add, migrations, names};

#[test]
fn concurrent_openers_apply_each_migration_once() {
    block_on(async {
        let (test, pooler) = start(2).await;
        let options = pooled(&pooler.url(&test));
        let opened = join_all((0..6).map(|_| {
            let options = options.clone();
            async move { tokio::spawn(Database::open(options, migrations)).await.unwrap() }
        }));
        for (i, db) in opened.await.into_iter().enumerate() {
            add(&db.unwrap(), &i.to_string()).await.unwrap();
        }
        let db = Database::open(options, migrations).await.unwrap();
        assert_eq!(names(&db).await.len(), 6);
    });
}

#[test]
fn commands_and_failures_are_those_of_a_session() {
    block_on(async {
        let (test, pooler) = start(1).await;
        let options = pooled(&pooler.url(&test));
        let run = tokio::task::spawn_blocking(move || {
            let pending = Database::pending(&options, migrations()).unwrap();
            assert_eq!(pending, ["20270101000000_create_things"]);
            assert!(Database::check_migrated(&options, migrations()).is_err());
            assert_eq!(Database::migrate(&options, migrations()).unwrap(), pending);
            assert_eq!(Database::migrate(&options, migrations()).unwrap(), [""; 0]);
            let Some(Error::Setup(sentence)) = Database::migrate(&options, with_broken()).err() else {
                panic!("migrated");
            };
            let failure = "the migration 20270102000000_break failed and was rolled back: ";
            assert!(sentence.starts_with(failure) && sentence.contains("nowhere"), "{sentence}");
            // The only session is free again, without the lock.
            Database::check_migrated(&options, migrations()).unwrap();
            let found = Database::check(&options, migrations()).unwrap();
            assert_eq!(found, "PostgreSQL, schema things, 0 migrations to be applied");
        });
        run.await.unwrap();
    });
}
