//! Counts SIGINT (Ctrl-C), SIGTERM and SIGHUP: the first asks for an orderly end, the second for an immediate one.

use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The number of signals received.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Handles the signals of this process.
    pub fn install() -> Result<Self> {
        let stop = Self::default();
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot install signal handlers")?;
        let count = Arc::clone(&stop.0);
        std::thread::spawn(move || {
            for _ in signals.forever() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(stop)
    }

    /// Number of signals.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Whether a signal was received.
    pub fn requested(&self) -> bool {
        self.count() > 0
    }

    /// Fails with [`Interrupted`] if a signal was received.
    pub fn check(&self) -> Result<()> {
        if self.requested() { Err(Interrupted.into()) } else { Ok(()) }
    }
}

/// Runs a program that signals can stop. Prints its error, if it fails, and returns its exit code.
pub fn run_program(run: impl FnOnce(&Interrupt) -> Result<()>) -> ExitCode {
    match Interrupt::install().and_then(|stop| run(&stop)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("stopped");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The user stopped the command.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}
