//! Migrations: applied at start, under a lock, so that replicas that start together apply each once.

use std::collections::BTreeSet;

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::migration::{Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness};
use secrecy::ExposeSecret;

use crate::connection::{self, Role};
use crate::{Error, Target};

/// The same steps for each database, embedded in the binary.
pub struct Migrations {
    /// `migrations/sqlite`
    pub sqlite: EmbeddedMigrations,
    /// `migrations/postgres`
    pub postgres: EmbeddedMigrations,
}

pub(crate) fn run(target: &Target, schema: &str, all: Vec<Migrations>) -> Result<Vec<String>, Error> {
    match target {
        Target::Sqlite(path) => {
            let mut c = connection::sqlite(path, Role::Writer)?;
            let sources: Vec<_> = all.into_iter().map(|m| m.sqlite).collect();
            // As long as on PostgreSQL: whoever is first may have much to do.
            c.batch_execute("PRAGMA busy_timeout=120000")?;
            AnsiTransactionManager::begin_transaction_sql(&mut c, "BEGIN IMMEDIATE")?;
            let applied = pending::<Sqlite, _>(&mut c, &sources)?;
            AnsiTransactionManager::commit_transaction(&mut c)?;
            Ok(applied)
        }
        Target::Postgres(url) => {
            let mut c = connection::postgres(url.expose_secret(), schema)?;
            let sources: Vec<_> = all.into_iter().map(|m| m.postgres).collect();
            // A role that may make no schema is asked for none if its own is there (IF NOT EXISTS would be refused all the
            // same). The lock belongs to this connection alone: closing it, however this ends, releases the lock.
            c.batch_execute(&format!(
                "SET lock_timeout = '120s'; SET statement_timeout = 0;
                 SELECT pg_advisory_lock(hashtext('drover migrations {schema}'));
                 DO $$ BEGIN
                     IF to_regnamespace('\"{schema}\"') IS NULL THEN CREATE SCHEMA \"{schema}\"; END IF;
                 END $$"
            ))?;
            pending::<Pg, _>(&mut c, &sources)
        }
    }
}

fn pending<DB, C>(c: &mut C, sources: &[EmbeddedMigrations]) -> Result<Vec<String>, Error>
where
    DB: diesel::backend::Backend,
    C: MigrationHarness<DB>,
    EmbeddedMigrations: MigrationSource<DB>,
{
    let failed = |e: Box<dyn std::error::Error + Send + Sync>| {
        Error::Setup(format!("a migration failed and was rolled back: {}", e.to_string().replace('\n', " ")))
    };
    let (mut applied, mut seen) = (Vec::new(), BTreeSet::new());
    for source in sources {
        let known = c.applied_migrations().map_err(failed)?;
        let migrations: Vec<Box<dyn Migration<DB>>> = source.migrations().map_err(failed)?;
        for migration in migrations {
            // The second one would be taken for applied, and be missing for ever.
            if !seen.insert(migration.name().version().as_owned()) {
                return Err(Error::Setup(format!("two migrations have the version of {}", migration.name())));
            }
            if !known.contains(&migration.name().version()) {
                c.run_migration(&migration).map_err(failed)?;
                applied.push(migration.name().to_string());
            }
        }
    }
    Ok(applied)
}
