//! Migrations. They run under a lock, so replicas that start at the same time apply each one once.

mod embedded;
mod postgres;
mod script;

use std::collections::BTreeSet;

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::dsl::sql;
use diesel::migration::Migration;
use diesel::pg::Pg;
use diesel::prelude::QueryDsl;
use diesel::sql_types::{Bool, Integer};
use diesel::sqlite::Sqlite;
use diesel::{RunQueryDsl, SqliteConnection};
use diesel_migrations::MigrationHarness;
use secrecy::ExposeSecret;

use self::embedded::EmbeddedMigration;
use crate::citus::Distribution;
use crate::sqlite::{SqliteMode, open_sqlite};
use crate::{DatabaseUrl, Error, Options};

pub use self::embedded::EmbeddedMigrations;
pub use self::script::split_statements;

/// The same migrations for each database, embedded in the binary.
pub struct Migrations {
    /// The folder `migrations/sqlite`.
    pub sqlite: EmbeddedMigrations,
    /// The folder `migrations/postgres`.
    pub postgres: EmbeddedMigrations,
    /// True if several services have these tables.
    pub shared: bool,
    /// How Citus places the tables.
    pub distribution: Distribution,
}

/// A migration for one kind of database.
struct KnownMigration<DB> {
    migration: Box<dyn Migration<DB>>,
    /// [`Migrations::shared`]
    shared: bool,
}

diesel::table! {
    /// Diesel's table of applied migrations.
    __diesel_schema_migrations (version) {
        version -> Text,
    }
}

/// Applies pending migrations and returns their names. On PostgreSQL, creates the schema if it does not exist.
pub(crate) fn run(url: &DatabaseUrl, options: &Options, all: Vec<Migrations>) -> Result<Vec<String>, Error> {
    match url {
        DatabaseUrl::Sqlite(path) => {
            let mut c = open_sqlite(path, SqliteMode::ReadWrite)?;
            let migrations = collect::<Sqlite>(all.into_iter().map(|m| (m.sqlite, m.shared)))?;
            // As long as the timeout of PostgreSQL's lock: another process may be running long migrations.
            c.batch_execute("PRAGMA busy_timeout=120000")?;
            AnsiTransactionManager::begin_transaction_sql(&mut c, "BEGIN IMMEDIATE")?;
            let is_marked = check_mark(&mut c, options.schema)?;
            let applied = apply_pending(&mut c, &migrations)?;
            if !is_marked {
                c.batch_execute(&format!("PRAGMA application_id={}", mark(options.schema)))?;
            }
            AnsiTransactionManager::commit_transaction(&mut c)?;
            Ok(applied)
        }
        DatabaseUrl::Postgres(url) => {
            let distributions: Vec<_> = all.iter().map(|m| m.distribution).collect();
            let migrations = collect::<Pg>(all.into_iter().map(|m| (m.postgres, m.shared)))?;
            postgres::run(url.expose_secret(), options, &migrations, &distributions)
        }
    }
}

/// Fails if migrations are pending.
pub(crate) fn check(url: &DatabaseUrl, options: &Options, all: Vec<Migrations>) -> Result<(), Error> {
    let pending = pending(url, options, all)?;
    if pending.is_empty() {
        return Ok(());
    }
    let pending = pending.join(", ");
    Err(Error::Setup(format!(
        "the database lacks {pending}, and database.migrate is false: run `{} migrate` first",
        options.schema
    )))
}

/// Returns the names of pending migrations. Only reads, so it needs no other privileges.
pub(crate) fn pending(
    url: &DatabaseUrl,
    options: &Options,
    all: Vec<Migrations>,
) -> Result<Vec<String>, Error> {
    match url {
        DatabaseUrl::Sqlite(path) => {
            let migrations = collect::<Sqlite>(all.into_iter().map(|m| (m.sqlite, m.shared)))?;
            if !path.exists() {
                return not_applied(&migrations, &[]);
            }
            let mut c = open_sqlite(path, SqliteMode::QueryOnly)?;
            check_mark(&mut c, options.schema)?;
            let has_table = "EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '__diesel_schema_migrations')";
            let has_table = diesel::select(sql::<Bool>(has_table)).get_result(&mut c)?;
            let applied = __diesel_schema_migrations::table.select(__diesel_schema_migrations::version);
            not_applied(&migrations, &if has_table { applied.load(&mut c)? } else { Vec::new() })
        }
        DatabaseUrl::Postgres(url) => {
            let migrations = collect::<Pg>(all.into_iter().map(|m| (m.postgres, m.shared)))?;
            not_applied(&migrations, &postgres::applied(url.expose_secret(), options)?)
        }
    }
}

/// Returns an error of one line: what failed, and Diesel's reason.
fn migration_error(failure: &str, reason: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::Setup(format!("{failure}: {}", reason.to_string().replace('\n', " ")))
}

/// Returns the migrations of all sources, in order. Fails if two have the same version: the second one would appear to
/// be applied and never run.
fn collect<DB: diesel::backend::Backend>(
    sources: impl Iterator<Item = (EmbeddedMigrations, bool)>,
) -> Result<Vec<KnownMigration<DB>>, Error>
where
    EmbeddedMigration: Migration<DB>,
{
    let (mut all, mut versions) = (Vec::new(), BTreeSet::new());
    for (source, shared) in sources {
        let migrations = source.list::<DB>();
        for migration in
            migrations.map_err(|e| migration_error("the embedded migrations cannot be read", e))?
        {
            if !versions.insert(migration.name().version().as_owned()) {
                return Err(Error::Setup(format!("two migrations have the version of {}", migration.name())));
            }
            all.push(KnownMigration { migration, shared });
        }
    }
    Ok(all)
}

/// Runs pending migrations and returns their names.
fn apply_pending<DB: diesel::backend::Backend>(
    c: &mut impl MigrationHarness<DB>,
    migrations: &[KnownMigration<DB>],
) -> Result<Vec<String>, Error> {
    let mut applied = Vec::new();
    while let Some(name) = apply_next(c, migrations)? {
        applied.push(name);
    }
    Ok(applied)
}

/// Runs the first pending migration and returns its name, or `None` if there is none.
fn apply_next<DB: diesel::backend::Backend>(
    c: &mut impl MigrationHarness<DB>,
    migrations: &[KnownMigration<DB>],
) -> Result<Option<String>, Error> {
    let already_applied = c.applied_migrations().map_err(|e| {
        migration_error("the table __diesel_schema_migrations cannot be read, and no migration was run", e)
    })?;
    refuse_foreign(migrations, &already_applied.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let mut pending = migrations.iter().map(|known| &known.migration);
    let Some(migration) = pending.find(|m| !already_applied.contains(&m.name().version())) else {
        return Ok(None);
    };
    c.run_migration(migration).map_err(|e| {
        migration_error(&format!("the migration {} failed and was rolled back", migration.name()), e)
    })?;
    Ok(Some(migration.name().to_string()))
}

/// Returns the names of the migrations whose versions are not in `applied`.
fn not_applied<DB: diesel::backend::Backend>(
    migrations: &[KnownMigration<DB>],
    applied: &[String],
) -> Result<Vec<String>, Error> {
    refuse_foreign(migrations, applied)?;
    let names = migrations.iter().map(|known| known.migration.name());
    let pending = names.filter(|name| !applied.contains(&name.version().to_string()));
    Ok(pending.map(ToString::to_string).collect())
}

/// Fails if another service has created the tables: migrations of a service were applied, but not the first one of this
/// service. Other versions prove nothing, because migrations of two services may have the same version.
fn refuse_foreign<DB: diesel::backend::Backend>(
    migrations: &[KnownMigration<DB>],
    applied: &[String],
) -> Result<(), Error> {
    let versions = |shared: bool| {
        let versions = migrations.iter().filter(move |known| known.shared == shared);
        versions.map(|known| known.migration.name().version().to_string()).collect::<BTreeSet<_>>()
    };
    let (own, shared) = (versions(false), versions(true));
    let has_first = own.first().is_none_or(|first| applied.contains(first));
    if has_first || applied.iter().all(|version| shared.contains(version)) { Ok(()) } else { Err(foreign()) }
}

/// Returns the `application_id` that marks the SQLite database of a service. Databases of releases before 1.2 have none
/// until the next migration.
fn mark(schema: &str) -> i32 {
    let letter = |index: usize| schema.as_bytes().get(index).copied().unwrap_or_default();
    i32::from_be_bytes([b'D', letter(0), letter(1), letter(2)])
}

/// Returns whether a SQLite database has the mark of this service. Fails if it has that of another service or program.
fn check_mark(c: &mut SqliteConnection, schema: &str) -> Result<bool, Error> {
    let found: i32 =
        diesel::select(sql::<Integer>("(SELECT application_id FROM pragma_application_id)")).get_result(c)?;
    if [0, mark(schema)].contains(&found) { Ok(found != 0) } else { Err(foreign()) }
}

fn foreign() -> Error {
    let message = "database.url (DROVER_DATABASE__URL) names the database of another service: give each service its own";
    Error::Setup(message.to_owned())
}
