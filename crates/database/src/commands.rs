//! Commands for the operator, which open no pool.

use std::path::Path;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use secrecy::ExposeSecret;

use crate::options::{parse_url, standby_options};
use crate::sqlite::backup::{self, BackupProgress};
use crate::sqlite::{SqliteMode, open_sqlite};
use crate::standby::of_standby;
use crate::{Database, DatabaseUrl, Error, Migrations, Options, StandbyOptions};
use crate::{migrate, postgres};

impl Database {
    /// Applies pending migrations and returns their names.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn migrate(options: &Options, migrations: Vec<Migrations>) -> Result<Vec<String>, Error> {
        migrate::run(&parse_url(options)?, options, migrations)
    }

    /// Returns the names of the migrations that [`Database::migrate`] would apply.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn pending(options: &Options, migrations: Vec<Migrations>) -> Result<Vec<String>, Error> {
        migrate::pending(&parse_url(options)?, options, migrations)
    }

    /// Checks that no migrations are pending.
    ///
    /// # Errors
    /// [`Error::Setup`] with the names of pending migrations; otherwise as [`Database::open`].
    pub fn check_migrated(options: &Options, migrations: Vec<Migrations>) -> Result<(), Error> {
        migrate::check(&parse_url(options)?, options, migrations)
    }

    /// Copies a SQLite database, which may be in use, to a new file. The file appears only if the copy is complete and
    /// passes SQLite's integrity check.
    ///
    /// # Errors
    /// [`Error::Setup`] with one sentence for the operator. On PostgreSQL it names `pg_dump`.
    pub fn backup(
        options: &Options,
        to: &Path,
        on_progress: impl FnMut(BackupProgress),
    ) -> Result<(), Error> {
        backup::run(&parse_url(options)?, to, on_progress)
    }

    /// Connects once to check the options. Creates no schema and no file. Returns what was found, for people.
    ///
    /// # Errors
    /// As [`Database::open`]; also if the database is another service's.
    pub fn check(options: &Options, migrations: Vec<Migrations>) -> Result<String, Error> {
        let url = parse_url(options)?;
        let found = match &url {
            DatabaseUrl::Sqlite(path) if !path.exists() => {
                return Ok(format!("{} does not exist yet and will be created", path.display()));
            }
            DatabaseUrl::Sqlite(path) => {
                open_sqlite(path, SqliteMode::QueryOnly)?;
                path.display().to_string()
            }
            DatabaseUrl::Postgres(url) => {
                postgres::with_connection(url.expose_secret(), options, |_| Ok(()))?;
                format!("PostgreSQL, schema {}", options.schema)
            }
        };
        let pending = migrate::pending(&url, options, migrations)?.len();
        Ok(format!("{found}, {pending} migrations to be applied"))
    }

    /// Connects to a standby once to check its URL.
    ///
    /// # Errors
    /// [`Error::Setup`] with one sentence for the operator.
    pub fn check_standby(options: &Options, standby: &StandbyOptions) -> Result<String, Error> {
        let options = standby_options(options, standby)?;
        let is_standby = |c: &mut PgConnection| {
            Ok(diesel::select(sql::<Bool>("pg_is_in_recovery()")).get_result::<bool>(c)?)
        };
        let checked = postgres::with_connection(options.url.expose_secret(), &options, is_standby);
        let is_standby = checked.map_err(|error| Error::Setup(of_standby(&error)))?;
        if !is_standby {
            return Err(Error::Setup(
                "the server of database.read_url (DROVER_DATABASE__READ_URL) is not a standby: exports do not use it"
                    .into(),
            ));
        }
        Ok(format!("PostgreSQL, for reads that may lag by {} ms", standby.max_lag.as_millis()))
    }
}
