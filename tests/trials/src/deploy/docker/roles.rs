//! The roles that `deploy/postgres/init.sh` creates can use their own schema and no other.

use anyhow::{Context, Result, bail, ensure};
use stack::checkout::SERVICES;
use stack::databases::Databases;
use stack::trial::Trial;

use super::project::Project;

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
