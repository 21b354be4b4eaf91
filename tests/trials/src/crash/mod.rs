//! `crash`: kills services at random moments of their work. Every acknowledged write must be stored completely, once.
//!
//! In each round, clients write without a pause and record every request and response. Meanwhile one, two or all
//! services are killed (`kill -9`) and started again, sometimes twice in a row. At the end of the round all are killed
//! and started. Then everything is compared with the records of all rounds: the responses of the services, their
//! databases, and the folder of contents. A write without a response must be stored completely or not at all, and is
//! repeated.
//!
//! A kill loses nothing that the kernel holds, so this trial does not find a missing fsync: the trial `power` does.

pub mod checks;
pub mod client;
pub mod findings;
mod fixture;
pub mod records;
pub mod report;
pub mod rounds;
pub mod services;
pub mod writer;

use anyhow::Result;
use testkit::processes::trial::Trial;

use self::rounds::Rounds;
use self::services::Services;

/// Runs the trial on SQLite and on PostgreSQL.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    for is_postgres in [false, true] {
        let folder = if is_postgres { "crash-postgres" } else { "crash-sqlite" };
        let services = Services::start(trial, trial.stack_config(folder, is_postgres)?)?;
        report::report(&Rounds::run(services)?)?;
    }
    Ok(())
}
