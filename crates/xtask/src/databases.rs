//! Databases of one's own on a PostgreSQL server, for a measurement or a trial.

use std::fs;
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};

use crate::servers;

/// A server, and what was made there. Dropped, that goes.
#[derive(Debug)]
pub struct Databases {
    url: String,
    /// The folder of `psql` and `pgbench`.
    pub programs: PathBuf,
    made: Mutex<Vec<String>>,
}

impl Databases {
    /// A server that a user may make databases on.
    pub fn new(url: &str) -> Result<Self> {
        let programs =
            servers::find_postgres().context("psql and pgbench are missing: install PostgreSQL")?;
        Ok(Self { url: url.to_owned(), programs, made: Mutex::default() })
    }

    /// A new database, by its URL.
    pub fn create(&self, name: &str) -> Result<String> {
        let mut made = self.made();
        let name = format!("drover_own_{}_{}_{name}", process::id(), made.len());
        self.ask(&self.url, "", &format!("CREATE DATABASE {name}"))?;
        made.push(name.clone());
        with_name(&self.url, &name)
    }

    fn made(&self) -> MutexGuard<'_, Vec<String>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database that was made last for a service.
    pub fn of(&self, service: &str) -> Result<String> {
        let made = self.made();
        let name = made.iter().rev().find(|name| name.ends_with(&format!("_{service}")));
        with_name(&self.url, name.with_context(|| format!("no database for {service}"))?)
    }

    /// What these statements say in the schema of a service, unaligned, rows only.
    pub fn say(&self, service: &str, statements: &str) -> Result<String> {
        self.ask(&self.of(service)?, service, statements)
    }

    /// The same in a schema of a database by its URL.
    pub fn ask(&self, url: &str, schema: &str, statements: &str) -> Result<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url])
            .env("PGOPTIONS", options(schema));
        let script = tempfile::NamedTempFile::new()?;
        fs::write(script.path(), statements)?;
        let output = psql.arg("-f").arg(script.path()).output().context("cannot run psql")?;
        if !output.status.success() {
            bail!("psql: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Databases {
    fn drop(&mut self) {
        for name in std::mem::take(&mut *self.made()) {
            let _ = self.ask(&self.url, "", &format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

/// What a session in the schema of a service is told (`PGOPTIONS`).
pub fn options(schema: &str) -> String {
    let path = if schema.is_empty() { String::new() } else { format!("-c search_path={schema},public ") };
    format!("{path}-c TimeZone=UTC -c jit=off")
}

/// The same server with another database.
fn with_name(url: &str, name: &str) -> Result<String> {
    let (scheme, rest) = url.split_once("://").context("--database is no URL")?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let server = rest.split('/').next().unwrap_or_default();
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    Ok(format!("{scheme}://{server}/{name}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_of_a_server() {
        for (url, expected) in [
            ("postgres://u:p@h:1/a?x=y", "postgres://u:p@h:1/b?x=y"),
            ("postgres://h/a", "postgres://h/b"),
            ("postgres://h", "postgres://h/b"),
        ] {
            assert_eq!(with_name(url, "b").unwrap(), expected);
        }
        assert!(with_name("sqlite.db", "b").is_err());
    }
}
