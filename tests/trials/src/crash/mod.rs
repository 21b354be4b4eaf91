//! `crash`: kills services at random moments of their work. Every acknowledged write must be stored completely, once.
//!
//! In each round, clients write without a pause and record every request and response. Meanwhile one, two or all
//! services are killed (`kill -9`) and started again, sometimes twice in a row. At the end of the round all are killed
//! and started. Then everything is compared with the records of all rounds: the responses of the services, their
//! databases, and the folder of contents. A write without a response must be stored completely or not at all, and is
//! repeated.
//!
//! A kill loses nothing that the kernel holds, so this trial does not find a missing fsync. SQLite commits with
//! `synchronous=FULL`, PostgreSQL syncs by default, and contents are synced, renamed, and their folder synced before
//! their record is written (`blob_store/local.rs`). `cargo xtask bench` compares creates with a floor that syncs: a
//! service that did not sync could be faster than it.

mod checks;
mod client;
mod findings;
mod fixture;
mod records;
mod report;
mod rounds;
mod services;
mod writer;

use anyhow::Result;
use testkit::processes::trial::Trial;

use self::rounds::Rounds;

/// Runs the trial on SQLite and on PostgreSQL.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    for is_postgres in [false, true] {
        report::report(&Rounds::run(trial, is_postgres)?)?;
    }
    Ok(())
}
