//! The cost of SQL without a service: SQLite in a loop, or pgbench.

use std::ffi::OsStr;

use anyhow::{Context, Result};
use serde_json::Value;
use testkit::processes::service::ServiceProcess;

use super::{floor, limits};
use crate::benchmark::Baseline;
use crate::environment::BenchEnvironment;
use crate::load::with_server_cpu_time;
use crate::pgbench::{self, Pgbench};

/// Name of the baseline of SELECT statements on PostgreSQL.
pub const SELECT_IN_PGBENCH: &str = "SQL in pgbench";
/// Name of the baseline of INSERT statements on PostgreSQL.
pub const INSERT_IN_PGBENCH: &str = "INSERT in pgbench";
/// Name of the baseline of INSERT statements on SQLite.
pub const INSERT_IN_LOOP: &str = "INSERT in a loop";

/// Returns a baseline that runs SELECT statements in turn: by one thread on SQLite, by `clients` clients on PostgreSQL.
pub fn select(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    statements: &[String],
    clients: usize,
) -> Result<Baseline<'static>> {
    if let Some(postgres) = &env.postgres {
        let (pgbench, seconds) =
            (Pgbench::new(env, postgres, service.name, statements, clients)?, env.seconds);
        let server = env.postgres_pid;
        let run = move || with_server_cpu_time(server, || pgbench.run(seconds));
        return Ok(Baseline { name: SELECT_IN_PGBENCH, run: Box::new(run) });
    }
    let (database, file) = (service.config().sqlite(), env.write_lines("statements", statements)?);
    let seconds = env.seconds.to_string();
    let args: [&OsStr; 4] = ["sqlite-read".as_ref(), database.as_ref(), file.as_ref(), seconds.as_ref()];
    Ok(limits::baseline(env, "SQL in a loop", args))
}

/// Returns a baseline that inserts copies of existing rows for `seconds` seconds: `group` rows per transaction on
/// SQLite, single rows by `group` clients on PostgreSQL.
pub fn insert(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    table: &str,
    group: usize,
    seconds: u64,
) -> Result<Baseline<'static>> {
    if let Some(postgres) = &env.postgres {
        let statements = pgbench::insert_statements(postgres, service.name, table)?;
        let pgbench = Pgbench::new(env, postgres, service.name, &statements, group)?;
        let server = env.postgres_pid;
        let run = move || with_server_cpu_time(server, || pgbench.run(seconds));
        return Ok(Baseline { name: INSERT_IN_PGBENCH, run: Box::new(run) });
    }
    let copy = floor::copy(env, service)?;
    let (group, seconds) = (group.to_string(), seconds.to_string());
    let args: [&OsStr; 5] =
        ["sqlite-insert".as_ref(), copy.as_ref(), table.as_ref(), group.as_ref(), seconds.as_ref()];
    Ok(limits::baseline(env, INSERT_IN_LOOP, args))
}

/// Returns the documents that each statement finds.
pub fn documents(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    statements: &[String],
) -> Result<Vec<Vec<Value>>> {
    let text = if let Some(postgres) = &env.postgres {
        // `limits` prints an empty line after each statement too.
        postgres.execute_for(service.name, &(statements.join(";\n\\echo\n") + ";\n\\echo\n"))?
    } else {
        let file = env.write_lines("statements", statements)?;
        let mut command = limits::command(env);
        command.arg("sqlite-print").arg(service.config().sqlite()).arg(file);
        limits::output(command.arg(statements.len().to_string()))?
    };
    let (mut all, mut documents) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if line.is_empty() {
            all.push(std::mem::take(&mut documents));
        } else {
            documents.push(serde_json::from_str(line).context("a document is not JSON")?);
        }
    }
    Ok(all)
}
