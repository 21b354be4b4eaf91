//! Upgrades with a migration: it fails by its own SQL, then succeeds. The long form also puts the old version back.

use std::fs;

use anyhow::{Context, Result, ensure};
use stack::checkout;
use stack::trial::Trial;

use super::clients::Clients;
use super::engine::HEALTHY_TIMEOUT;
use super::images::Images;
use super::project::Project;
use super::replicas::{expect_kept, expect_none_lost, replace};

/// A migration of livestock that only replaces indexes. Replicas also work without it, as those of an older version.
const MIGRATION: &str = "20261122112000_index_breeds";
/// An index that it creates.
const INDEX: &str = "listings_breed_place";

/// Puts livestock's schema back to the state before a migration, and upgrades it.
pub fn run(
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
