//! Each service refuses the database of another one.

use common::{Service, migrations};
use database::Database;
use livestock::Livestock;
use logistics::Logistics;
use system::System;
use testkit::TestDatabase;

/// Removes the mark of the service, which databases of releases before 1.2 do not have.
const UNMARK: &str = "PRAGMA application_id = 0";

async fn migrated<S: Service>() -> TestDatabase {
    let test = TestDatabase::empty(testkit::Backend::Sqlite).await;
    let applied = Database::migrate(&testkit::options(&test.url, S::NAME), migrations::<S>()).unwrap();
    assert!(!applied.is_empty());
    test
}

/// Checks that each command of a service refuses a database and leaves its tables as they are.
fn assert_refused<S: Service>(test: &TestDatabase) {
    let options = testkit::options(&test.url, S::NAME);
    let tables = test.count("sqlite_schema");
    let outcomes = [
        Database::check(&options, migrations::<S>()).map(drop),
        Database::check_migrated(&options, migrations::<S>()),
        Database::migrate(&options, migrations::<S>()).map(drop),
    ];
    for outcome in outcomes {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("names the database of another service"), "{}: {error}", S::NAME);
    }
    assert_eq!(test.count("sqlite_schema"), tables);
}

/// Checks that a service continues with its own database, with its mark and without it.
fn assert_accepted<S: Service>(test: &TestDatabase) {
    let options = testkit::options(&test.url, S::NAME);
    Database::check_migrated(&options, migrations::<S>()).unwrap();
    assert_eq!(Database::migrate(&options, migrations::<S>()).unwrap(), <[String; 0]>::default());
}

#[tokio::test]
async fn sqlite_databases_of_other_services_are_refused() {
    let (system, logistics, livestock) =
        (migrated::<System>().await, migrated::<Logistics>().await, migrated::<Livestock>().await);
    for marked in [true, false] {
        for database in [&system, &logistics, &livestock] {
            if !marked {
                database.execute(UNMARK);
            }
        }
        assert_refused::<System>(&logistics);
        assert_refused::<System>(&livestock);
        assert_refused::<Logistics>(&system);
        assert_refused::<Logistics>(&livestock);
        assert_refused::<Livestock>(&system);
        assert_refused::<Livestock>(&logistics);
        assert_accepted::<System>(&system);
        assert_accepted::<Logistics>(&logistics);
        assert_accepted::<Livestock>(&livestock);
    }
}
