//! The roles that `deploy/postgres/init.sh` creates can use their own schema and no other.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::databases::Databases;
use testkit::processes::trial::Trial;

use crate::deploy::docker::clients::Clients;
use crate::deploy::docker::images::{HEALTHY_TIMEOUT, Images};
use crate::deploy::docker::project::Project;
use crate::deploy::docker::replicas::{expect_kept, expect_none_lost, replace};

/// A table of each service.
const TABLES: [(&str, &str); 3] = [("system", "files"), ("logistics", "loads"), ("livestock", "listings")];

/// Tries, as each role, statements on the schemas of the others.
pub fn check(trial: &Trial<'_>, project: &Project<'_>) -> Result<()> {
    let mut refused = 0;
    for role in SERVICES {
        let url = project.database_url(role)?;
        for (schema, table) in TABLES {
            let count = format!("SELECT count(*) FROM {schema}.{table}");
            if schema == role {
                let result = trial.databases.execute(&url, "", &count);
                result.with_context(|| format!("the role {role} cannot read its own table"))?;
                continue;
            }
            let statements = [
                count,
                format!("DELETE FROM {schema}.{table}"),
                format!("COPY {schema}.{table} TO STDOUT"),
                format!("CREATE TABLE {schema}.mine ()"),
                format!("GRANT USAGE ON SCHEMA {schema} TO {role}"),
                format!("SET ROLE {schema}"),
            ];
            for statement in &statements {
                expect_refusal(&trial.databases, role, &url, statement)?;
                refused += 1;
            }
        }
        for statement in
            ["CREATE TABLE public.mine ()", "CREATE TABLE extensions.mine ()", "CREATE SCHEMA mine"]
        {
            expect_refusal(&trial.databases, role, &url, statement)?;
            refused += 1;
        }
    }
    trial.note("statements on other roles' data", format!("{refused} refused"), "all refused");
    Ok(())
}

fn expect_refusal(databases: &Databases, role: &str, url: &str, statement: &str) -> Result<()> {
    match databases.execute(url, "", statement) {
        Ok(_) => bail!("the role {role} may run `{statement}`"),
        Err(error) => {
            let refused = error.to_string().contains("permission denied");
            ensure!(refused, "`{statement}` as {role} fails for another reason: {error}");
            Ok(())
        }
    }
}

/// A migration of livestock that only replaces indexes. Replicas also work without it, as those of an older version.
const MIGRATION: &str = "20261122112000_index_breeds";
/// An index that it creates.
const INDEX: &str = "listings_breed_place";

/// Puts livestock's schema back to the state before a migration, and upgrades it.
pub fn migrate(
    trial: &Trial<'_>,
    project: &Project<'_>,
    images: &Images<'_>,
    clients: &Clients<'_>,
) -> Result<()> {
    let url = project.database_url("livestock")?;
    let execute = |statements: &str| trial.databases.execute(&url, "livestock", statements);
    let (version, _) = MIGRATION.split_once('_').context("the migration has no version")?;
    let applied = || -> Result<String> {
        let table = "SELECT count(*) FROM __diesel_schema_migrations";
        let kind = format!("SELECT relkind FROM pg_class WHERE oid = to_regclass('{INDEX}')");
        Ok(execute(&format!("{table} WHERE version = '{version}'; {kind}"))?.replace('\n', ""))
    };
    ensure!(applied()? == "1i", "the migration {MIGRATION} of livestock is not applied: {}", applied()?);

    let folder = checkout::root().join("services/livestock/migrations/postgres").join(MIGRATION);
    let down = fs::read_to_string(folder.join("down.sql")).context("cannot read down.sql")?;
    // A table with the name of the index makes the migration fail in its middle.
    execute(&format!(
        "BEGIN; {down}; DELETE FROM __diesel_schema_migrations WHERE version = '{version}';
         CREATE TABLE {INDEX} (); COMMIT"
    ))?;
    let outcomes = clients.during(&["livestock"], || {
        let message = "a migration failed. The old replicas continue.";
        expect_kept(project, "livestock", &images.next, HEALTHY_TIMEOUT, message)?;
        ensure!(applied()? == "0r", "the failed migration was not rolled back: {}", applied()?);
        let first = "SELECT to_regclass('listings_status_created') IS NOT NULL";
        ensure!(execute(first)?.trim() == "t", "the failed migration has removed an index");
        Ok(())
    })?;
    expect_none_lost(trial, "upgrade of livestock: its migration fails in its middle", &outcomes)?;

    execute(&format!("DROP TABLE {INDEX}"))?;
    let outcomes = clients.during(&["livestock"], || replace(project, "livestock", &images.next))?;
    ensure!(applied()? == "1i", "replace.sh has not applied the migration: {}", applied()?);
    expect_none_lost(trial, "upgrade of livestock with a migration", &outcomes)?;
    if trial.short {
        return Ok(());
    }
    let outcomes = clients.during(&["livestock"], || replace(project, "livestock", &images.version))?;
    ensure!(applied()? == "1i", "the return to the old version has changed the schema: {}", applied()?);
    expect_none_lost(trial, "livestock rolled back, on the new schema", &outcomes)
}
