//! Servers that report errors in another language than English.

use database::{Cause, Database, Error, Options, Pooler};
use diesel::RunQueryDsl;
use testkit::{Backend, TestDatabase, block_on, execute, execute_on_server};

use crate::support::{migrations, options};

/// Creates a database with errors in German. `.ci/install` adds the locale.
async fn german_database() -> TestDatabase {
    let test = TestDatabase::empty(Backend::Postgres).await;
    execute_on_server(&format!("ALTER DATABASE {} SET lc_messages = 'de_DE.UTF-8'", test.name()));
    test
}

#[test]
fn failures_are_classified_in_every_language() {
    block_on(async {
        let test = german_database().await;
        for pooler in [Pooler::None, Pooler::Transaction] {
            let db = Database::open(Options { pooler, ..options(&test.url) }, migrations).await.unwrap();
            let timed_out = db.write(|c| {
                diesel::sql_query("SET LOCAL statement_timeout = '10ms'").execute(c)?;
                diesel::sql_query("SELECT pg_sleep(5)").execute(c)?;
                Ok::<_, Error>(())
            });
            let error = timed_out.await.unwrap_err();
            assert!(matches!(error, Error::Unavailable(Cause::Statement, _)), "{error:?}");
        }
    });
}

#[test]
fn postgres_roles_that_cannot_choose_english_are_refused() {
    block_on(async {
        let test = german_database().await;
        let role = format!("r_{}", test.name());
        let (_, server) = test.url.split_once('@').unwrap();
        let url = format!("postgres://{role}:p@{server}");
        let open = || Database::open(options(&url), migrations);
        execute_on_server(&format!("CREATE ROLE {role} LOGIN PASSWORD 'p'"));
        execute_on_server(&format!("GRANT ALL ON DATABASE {} TO {role}", test.name()));
        let refused = open().await.err();
        execute_on_server(&format!("ALTER ROLE {role} SET lc_messages = 'C'"));
        let opened = open().await.map(drop);
        execute(&test.url, &format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}"));
        let Some(Error::Setup(message)) = refused else { panic!("{refused:?}") };
        assert!(message.contains("SET lc_messages = 'C'"), "{message}");
        opened.unwrap();
    });
}
