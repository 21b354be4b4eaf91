//! Whether the roles that deploy/postgres/init.sh makes can get at each other's data.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// A table of each service.
const TABLES: [(&str, &str); 3] = [("system", "files"), ("logistics", "loads"), ("livestock", "listings")];

/// What a statement says on a database; an error is what the server says against it.
pub fn psql(programs: &Path, url: &str, statement: &str) -> Result<String> {
    let mut psql = Command::new(programs.join("psql"));
    psql.args([
        "--no-psqlrc",
        "--quiet",
        "--no-align",
        "--tuples-only",
        "--dbname",
        url,
        "--command",
        statement,
    ]);
    let output = psql.output().context("cannot run psql")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Tries as every role what no role may; gives how many statements were refused.
pub fn separate(programs: &Path, urls: &[(&str, String)]) -> Result<usize> {
    let mut refused = 0;
    for (role, url) in urls {
        for (schema, table) in TABLES {
            let count = format!("SELECT count(*) FROM {schema}.{table}");
            if schema == *role {
                psql(programs, url, &count).with_context(|| format!("{role} cannot read its own table"))?;
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
            for statement in statements {
                refuse(programs, role, url, &statement)?;
                refused += 1;
            }
        }
        for statement in
            ["CREATE TABLE public.mine ()", "CREATE TABLE extensions.mine ()", "CREATE SCHEMA mine"]
        {
            refuse(programs, role, url, statement)?;
            refused += 1;
        }
    }
    Ok(refused)
}

fn refuse(programs: &Path, role: &str, url: &str, statement: &str) -> Result<()> {
    match psql(programs, url, statement) {
        Ok(said) => bail!("{role} may do `{statement}`: {said}"),
        Err(error) => {
            ensure!(error.to_string().contains("permission denied"), "{role}: `{statement}`: {error}");
            Ok(())
        }
    }
}
