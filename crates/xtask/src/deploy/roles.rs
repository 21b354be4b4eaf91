//! Whether the roles that deploy/postgres/init.sh makes can get at each other's data.

use anyhow::{Context, Result, bail, ensure};

use crate::databases::Databases;

/// A table of each service.
const TABLES: [(&str, &str); 3] = [("system", "files"), ("logistics", "loads"), ("livestock", "listings")];

/// Tries as every role what no role may; gives how many statements were refused.
pub fn separate(databases: &Databases, urls: &[(&str, String)]) -> Result<usize> {
    let mut refused = 0;
    for (role, url) in urls {
        for (schema, table) in TABLES {
            let count = format!("SELECT count(*) FROM {schema}.{table}");
            if schema == *role {
                databases
                    .ask(url, "", &count)
                    .with_context(|| format!("{role} cannot read its own table"))?;
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
                refuse(databases, role, url, &statement)?;
                refused += 1;
            }
        }
        for statement in
            ["CREATE TABLE public.mine ()", "CREATE TABLE extensions.mine ()", "CREATE SCHEMA mine"]
        {
            refuse(databases, role, url, statement)?;
            refused += 1;
        }
    }
    Ok(refused)
}

fn refuse(databases: &Databases, role: &str, url: &str, statement: &str) -> Result<()> {
    match databases.ask(url, "", statement) {
        Ok(said) => bail!("{role} may do `{statement}`: {said}"),
        Err(error) => {
            ensure!(error.to_string().contains("permission denied"), "{role}: `{statement}`: {error}");
            Ok(())
        }
    }
}
