//! Databases on a PostgreSQL server for a benchmark or a trial.

use std::fs;
use std::path::PathBuf;
use std::process::{self, Command};

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;

use crate::processes::tools;

/// A server and the databases that were created there. They are removed when it is dropped.
#[derive(Debug)]
pub struct Databases {
    url: String,
    /// Folder of `psql` and `pgbench`.
    pub programs: PathBuf,
    /// Names of the created databases.
    created: Mutex<Vec<String>>,
}

impl Databases {
    /// Uses a server on which the user of this URL may create databases.
    pub fn new(url: &str) -> Result<Self> {
        let programs = tools::postgres_folder()?;
        Ok(Self { url: url.to_owned(), programs, created: Mutex::default() })
    }

    /// Creates a database and returns its URL.
    pub fn create(&self, name: &str) -> Result<String> {
        let mut created = self.created.lock();
        let name = format!("drover_own_{}_{}_{name}", process::id(), created.len());
        self.execute(&self.url, "", &format!("CREATE DATABASE {name}"))?;
        created.push(name.clone());
        with_name(&self.url, &name)
    }

    /// Returns the URL of the database that was created last for a service.
    pub fn url_of(&self, service: &str) -> Result<String> {
        let created = self.created.lock();
        let name = created.iter().rev().find(|name| name.ends_with(&format!("_{service}")));
        with_name(&self.url, name.with_context(|| format!("no database for {service}"))?)
    }

    /// Runs statements in the last database of a service and returns their rows, unaligned.
    pub fn execute_for(&self, service: &str, statements: &str) -> Result<String> {
        self.execute(&self.url_of(service)?, service, statements)
    }

    /// Returns the process id of the server, if it runs on this machine and its data folder can be read.
    pub fn server_pid(&self) -> Option<u32> {
        let folder = self.execute(&self.url, "", "SHOW data_directory").ok()?;
        let file = fs::read_to_string(PathBuf::from(folder.trim()).join("postmaster.pid")).ok()?;
        file.lines().next()?.trim().parse().ok()
    }

    /// Runs statements in a schema of a database and returns their rows, unaligned.
    pub fn execute(&self, url: &str, schema: &str, statements: &str) -> Result<String> {
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
        for name in std::mem::take(self.created.get_mut()) {
            let _ = self.execute(&self.url, "", &format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

/// Options of a session in the schema of a service (`PGOPTIONS`).
pub fn options(schema: &str) -> String {
    let path = if schema.is_empty() { String::new() } else { format!("-c search_path={schema},public ") };
    format!("{path}-c TimeZone=UTC -c jit=off")
}

/// Replaces the database name of a URL.
fn with_name(url: &str, name: &str) -> Result<String> {
    let (scheme, rest) = url.split_once("://").context("the database URL has no ://")?;
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
