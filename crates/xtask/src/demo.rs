//! `demo`: starts the services, runs the examples of `deploy/examples` and stops them.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use testkit::market::seed;
use testkit::processes::environment::Environment;
use testkit::processes::interrupt::Interrupt;

use crate::cli::{BackendArgs, DemoArgs};
use crate::examples;
use crate::launch::{self, Programs};

/// What `demo` does besides the examples.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoOptions {
    /// Fill the services with the sample market first.
    pub market: bool,
    /// Print requests and responses.
    pub verbose: bool,
}

/// Runs the examples over a new folder, which is removed afterwards unless it was named.
pub fn run(args: &DemoArgs, interrupt: &Interrupt) -> Result<()> {
    ensure!(
        examples::has_curl(),
        "curl is missing: install it or put it on PATH (the examples are sent by curl)"
    );
    let fresh = tempfile::Builder::new().prefix("drover-demo-").tempdir();
    let fresh = fresh.context("cannot make a temporary folder: set TMPDIR or name a folder with --data")?;
    let data = launch::data_folder(args.data.as_deref().unwrap_or(fresh.path()))?;
    let options = DemoOptions { market: args.market, verbose: args.verbose };
    let programs = Programs::build(args.release);
    let result = run_examples(&args.backends, &data, args.port, &Vec::new(), programs, options, interrupt);
    if result.is_err() && args.data.is_none() && data.join("log").exists() {
        eprintln!("the temporary data folder was removed: add --data DIR to keep logs and databases");
    }
    result
}

/// Starts the services with programs that are built first or given, runs the examples, and stops the services.
pub fn run_examples(
    backends: &BackendArgs,
    data: &Path,
    first_port: u16,
    environment: &Environment,
    programs: Programs<'_>,
    options: DemoOptions,
    interrupt: &Interrupt,
) -> Result<()> {
    let config = launch::config(backends, data, first_port, environment);
    let services = config.services()?;
    let mut running = launch::launch(config, backends, programs, interrupt)?;
    let result = || {
        if options.market {
            seed::run(&services, &running.keys, interrupt)?;
            let again = seed::run(&services, &running.keys, interrupt)?;
            ensure!(again == seed::Created::default(), "the sample market was created twice: {again:?}");
        }
        examples::run(&services, data, options.verbose, interrupt)
    };
    // A service that has ended explains more than the request that failed.
    let result = result().or_else(|error| running.stack.check_running().and(Err(error)));
    running.stop(result, interrupt)
}
