//! Rows that Citus distributes: the same requests with one PostgreSQL server, and with two and four workers.
//!
//! All servers share this machine, so what counts is the work of each: its CPU time, statements and pages.

mod cluster;
mod counters;
mod measure;
mod operations;
mod plans;

use anyhow::Result;
use testkit::processes::databases::Databases;
use testkit::processes::servers::{Programs, Servers, has_citus};

use self::cluster::Services;
use self::operations::Operation;
use crate::environment::BenchEnvironment;

/// Workers that are added before each measurement but the first.
const ADDED_WORKERS: [usize; 2] = [2, 2];

/// Measures one server, distributes its tables over workers, and measures these.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    if env.postgres.is_some() {
        return Ok(()); // it starts servers of its own, whatever --database says
    }
    if !is_installed(env)? {
        env.add_note("citus: NOT TRIED: PostgreSQL has no extension citus (docs/operations/citus.md)".into());
        return Ok(());
    }
    let mut services = Services::start(env, &Programs::find()?)?;
    services.create_data(env)?;
    let operations = operations::all(env, &services)?;
    measure_all(env, &services, &operations)?;
    for count in ADDED_WORKERS {
        services.add_workers(env, count)?;
        measure_all(env, &services, &operations)?;
    }
    env.add_note(services.rows_per_worker()?);
    plans::report(env, &mut services, &operations)?;
    Ok(())
}

/// Asks a PostgreSQL server whether the extension is there.
fn is_installed(env: &BenchEnvironment) -> Result<bool> {
    let servers = Servers::start(env.stop)?;
    has_citus(&Databases::new(&servers.postgres_url())?, &servers.postgres_url())
}

/// Measures all operations with the present servers.
fn measure_all(env: &BenchEnvironment, services: &Services, operations: &[Operation]) -> Result<()> {
    for operation in operations {
        env.stop.check()?;
        let row = measure::measure(services, env, operation)?;
        eprintln!("  {row}");
        env.report.borrow_mut().nodes.push(row);
    }
    Ok(())
}
