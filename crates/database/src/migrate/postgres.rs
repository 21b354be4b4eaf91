//! Migrations of PostgreSQL, under an advisory lock.

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::Bool;

use super::{__diesel_schema_migrations, KnownMigration, apply_next, apply_pending};
use crate::citus::{Distribution, detect_citus, distribute, prepare_distribution};
use crate::{Error, Options, Pooler, postgres};

/// Applies pending migrations and returns their names. Creates the schema if it does not exist. With Citus, places the
/// tables that it does not know yet.
pub(super) fn run(
    url: &str,
    options: &Options,
    migrations: &[KnownMigration<Pg>],
    distributions: &[Distribution],
) -> Result<Vec<String>, Error> {
    match options.pooler {
        Pooler::None => postgres::with_connection(url, options, |c| {
            // Closing the connection releases the lock in all cases.
            c.batch_execute(&lock(options.schema, "SESSION", "pg_advisory_lock"))?;
            prepare_distribution(c, "SESSION")?;
            let names = apply_pending(c, migrations)?;
            distribute(c, distributions)?;
            Ok(names)
        }),
        Pooler::Transaction => run_in_transactions(url, options, migrations, distributions),
    }
}

/// Applies each migration in a transaction that holds the lock. In between, another process may apply the next one.
fn run_in_transactions(
    url: &str,
    options: &Options,
    migrations: &[KnownMigration<Pg>],
    distributions: &[Distribution],
) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    loop {
        let applied = postgres::with_connection(url, options, |c| {
            c.batch_execute(&lock(options.schema, "LOCAL", "pg_advisory_xact_lock"))?;
            prepare_distribution(c, "LOCAL")?;
            let applied = apply_next(c, migrations)?;
            if applied.is_none() {
                distribute(c, distributions)?;
            }
            Ok(applied)
        })?;
        match applied {
            Some(name) => names.push(name),
            None => return Ok(names),
        }
    }
}

/// Returns statements that take the lock, for the session or for the transaction, and create the schema.
fn lock(schema: &str, scope: &str, function: &str) -> String {
    // CREATE SCHEMA runs only if the schema does not exist. IF NOT EXISTS would not do: PostgreSQL refuses it to a role
    // without the right to create schemas even if the schema exists.
    format!(
        "SET {scope} lock_timeout = '120s'; SET {scope} statement_timeout = 0;
         SELECT {function}(hashtext('drover migrations {schema}'));
         DO $$ BEGIN
             IF to_regnamespace('\"{schema}\"') IS NULL THEN CREATE SCHEMA \"{schema}\"; END IF;
         END $$"
    )
}

/// Returns the versions of the applied migrations. Only reads.
pub(super) fn applied(url: &str, options: &Options) -> Result<Vec<String>, Error> {
    let schema = options.schema;
    postgres::with_connection(url, options, |c| {
        detect_citus(c)?;
        // Without USAGE a role sees no tables in a schema, and all migrations would appear to be pending.
        let lacks_usage = format!(
            "EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '{schema}' AND NOT has_schema_privilege(oid, 'USAGE'))"
        );
        if diesel::select(sql::<Bool>(&lacks_usage)).get_result(c)? {
            return Err(Error::Setup(format!(
                "the role of database.url may not use the schema {schema}: GRANT USAGE ON SCHEMA {schema} TO it"
            )));
        }
        let has_table = "to_regclass('__diesel_schema_migrations') IS NOT NULL";
        if !diesel::select(sql::<Bool>(has_table)).get_result(c)? {
            return Ok(Vec::new());
        }
        let versions = __diesel_schema_migrations::table.select(__diesel_schema_migrations::version);
        Ok(versions.load(c)?)
    })
}
