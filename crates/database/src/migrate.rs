//! Migrations: applied at start, under a lock, so that replicas that start together apply each once.

use std::collections::BTreeSet;

use diesel::RunQueryDsl;
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::dsl::sql;
use diesel::migration::{Migration, MigrationSource};
use diesel::pg::Pg;
use diesel::prelude::QueryDsl;
use diesel::sql_types::Bool;
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

diesel::table! {
    /// Diesel's own.
    __diesel_schema_migrations (version) {
        version -> Text,
    }
}

pub(crate) fn run(target: &Target, schema: &str, all: Vec<Migrations>) -> Result<Vec<String>, Error> {
    match target {
        Target::Sqlite(path) => {
            let mut c = connection::sqlite(path, Role::Writer)?;
            let steps = steps::<Sqlite>(all.into_iter().map(|m| m.sqlite))?;
            // As long as on PostgreSQL: whoever is first may have much to do.
            c.batch_execute("PRAGMA busy_timeout=120000")?;
            AnsiTransactionManager::begin_transaction_sql(&mut c, "BEGIN IMMEDIATE")?;
            let applied = apply(&mut c, &steps)?;
            AnsiTransactionManager::commit_transaction(&mut c)?;
            Ok(applied)
        }
        Target::Postgres(url) => {
            let mut c = connection::postgres(url.expose_secret(), schema)?;
            let steps = steps::<Pg>(all.into_iter().map(|m| m.postgres))?;
            // A role that may make no schema is asked for none if its own is there (IF NOT EXISTS would be refused all the
            // same). The lock belongs to this connection alone: closing it, however this ends, releases the lock.
            c.batch_execute(&format!(
                "SET lock_timeout = '120s'; SET statement_timeout = 0;
                 SELECT pg_advisory_lock(hashtext('drover migrations {schema}'));
                 DO $$ BEGIN
                     IF to_regnamespace('\"{schema}\"') IS NULL THEN CREATE SCHEMA \"{schema}\"; END IF;
                 END $$"
            ))?;
            apply(&mut c, &steps)
        }
    }
}

/// Fails if migrations are missing that others apply.
pub(crate) fn check(target: &Target, schema: &str, all: Vec<Migrations>) -> Result<(), Error> {
    let missing = missing(target, schema, all)?;
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    Err(Error::Setup(format!(
        "the database lacks {missing}, and database.migrate is false: run `{schema} migrate` first"
    )))
}

/// The names of the migrations that are still to be applied. Changes nothing, so that it needs no right to.
pub(crate) fn missing(target: &Target, schema: &str, all: Vec<Migrations>) -> Result<Vec<String>, Error> {
    let applied = __diesel_schema_migrations::table.select(__diesel_schema_migrations::version);
    match target {
        Target::Sqlite(path) => {
            let steps = steps::<Sqlite>(all.into_iter().map(|m| m.sqlite))?;
            if !path.exists() {
                return Ok(absent(&steps, &[]));
            }
            let mut c = connection::sqlite(path, Role::Reader)?;
            let is_there = "EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '__diesel_schema_migrations')";
            let is_there = diesel::select(sql::<Bool>(is_there)).get_result(&mut c)?;
            Ok(absent(&steps, &if is_there { applied.load(&mut c)? } else { Vec::new() }))
        }
        Target::Postgres(url) => {
            let steps = steps::<Pg>(all.into_iter().map(|m| m.postgres))?;
            let mut c = connection::postgres(url.expose_secret(), schema)?;
            // Who may not look into a schema sees nothing in it, and would take all for missing.
            let is_shut = format!(
                "EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '{schema}' AND NOT has_schema_privilege(oid, 'USAGE'))"
            );
            if diesel::select(sql::<Bool>(&is_shut)).get_result(&mut c)? {
                return Err(Error::Setup(format!(
                    "the role of database.url may not use the schema {schema}: GRANT USAGE ON SCHEMA {schema} TO it"
                )));
            }
            let is_there = "to_regclass('__diesel_schema_migrations') IS NOT NULL";
            let is_there = diesel::select(sql::<Bool>(is_there)).get_result(&mut c)?;
            Ok(absent(&steps, &if is_there { applied.load(&mut c)? } else { Vec::new() }))
        }
    }
}

type Step<DB> = Box<dyn Migration<DB>>;

fn failed(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::Setup(format!("a migration failed and was rolled back: {}", error.to_string().replace('\n', " ")))
}

/// All migrations, in order.
fn steps<DB: diesel::backend::Backend>(
    sources: impl Iterator<Item = EmbeddedMigrations>,
) -> Result<Vec<Step<DB>>, Error> {
    let (mut steps, mut seen) = (Vec::new(), BTreeSet::new());
    for source in sources {
        let migrations: Vec<Step<DB>> = source.migrations().map_err(failed)?;
        for migration in migrations {
            // The second one would be taken for applied, and be missing for ever.
            if !seen.insert(migration.name().version().as_owned()) {
                return Err(Error::Setup(format!("two migrations have the version of {}", migration.name())));
            }
            steps.push(migration);
        }
    }
    Ok(steps)
}

fn apply<DB: diesel::backend::Backend>(
    c: &mut impl MigrationHarness<DB>,
    steps: &[Step<DB>],
) -> Result<Vec<String>, Error> {
    let known = c.applied_migrations().map_err(failed)?;
    let mut applied = Vec::new();
    for step in steps.iter().filter(|step| !known.contains(&step.name().version())) {
        c.run_migration(step).map_err(failed)?;
        applied.push(step.name().to_string());
    }
    Ok(applied)
}

fn absent<DB: diesel::backend::Backend>(steps: &[Step<DB>], applied: &[String]) -> Vec<String> {
    let is_absent = |step: &&Step<DB>| !applied.contains(&step.name().version().to_string());
    steps.iter().filter(is_absent).map(|step| step.name().to_string()).collect()
}
