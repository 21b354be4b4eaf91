//! `deploy/postgres/init.sh` on a real cluster: its roles can use their own schema and no other.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::compose::Compose;
use super::secrets::Secrets;
use crate::command::output;
use stack::checkout::SERVICES;
use stack::databases::Databases;
use stack::servers::Cluster;
use stack::tools;
use stack::trial::Trial;

/// A table of each service.
const TABLES: [(&str, &str); 3] = [("system", "files"), ("logistics", "loads"), ("livestock", "listings")];

/// Starts a cluster with the database of the container, and runs the script of the container `roles`, twice. Writes the
/// cluster's address into the database URLs of the secrets.
pub fn start(trial: &Trial<'_>, compose: &Compose, secrets: &Secrets) -> Result<Cluster> {
    let programs = &trial.servers.programs().postgres;
    let cluster = Cluster::start(programs, trial.stop)?;
    let container = compose.container("postgres")?;
    let environment = container.environment();
    let database = environment.get("POSTGRES_DB").context("docker-compose.yml: POSTGRES_DB is missing")?;
    trial.databases.execute(&cluster.url(), "", &format!("CREATE DATABASE {database}"))?;
    let roles = compose.container("roles")?;
    let script = roles.binds().into_iter().next().context("docker-compose.yml: roles has no script")?;
    for _ in 0..2 {
        let mut init = Command::new(script.source);
        init.envs(roles.environment()).envs(cluster.variables()).env_remove("POSTGRES_PASSWORD_FILE");
        output(init.env("SECRETS", secrets.folder()).env("PATH", tools::path_with(&[programs])?))?;
    }
    let address = format!("127.0.0.1:{}", cluster.port);
    for service in SERVICES {
        secrets.replace(&format!("{service}-database-url"), "postgres:5432", &address)?;
    }
    let words = container.health_check();
    let (program, arguments) = words.split_first().context("postgres has no health check")?;
    output(Command::new(programs.join(program)).args(arguments).envs(cluster.variables()))?;
    Ok(cluster)
}

/// Tries, as each role, statements on the schemas of the others.
pub fn check_separation(trial: &Trial<'_>, secrets: &Secrets) -> Result<()> {
    let mut refused = 0;
    for role in SERVICES {
        let url = secrets.read(&format!("{role}-database-url"))?;
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
