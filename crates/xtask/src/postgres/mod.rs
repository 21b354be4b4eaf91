//! A private PostgreSQL cluster for tests: fast, unsafe on power failure, gone afterwards.

mod account;
mod cluster;
mod install;

use anyhow::Result;

pub use cluster::Cluster;

use crate::stop::Stop;

/// The variable in which tests find the cluster.
pub const ENV: &str = "DROVER_TEST_POSTGRES";

/// Runs a cluster until Ctrl-C and prints how tests are told of it.
pub fn run(stop: &Stop) -> Result<()> {
    let mut cluster = Cluster::start(stop)?;
    println!("export {ENV}={}", cluster.url());
    eprintln!("PostgreSQL is running for tests; put the line above into the shell that runs `cargo test`.");
    eprintln!("Ctrl-C stops it and removes its data.");
    while !stop.requested() {
        cluster.check()?;
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    Ok(())
}
