//! Ctrl-C, SIGTERM and SIGHUP: counted, so that a loop can ask and a second one can mean "at once".

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How often the user has asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// Takes over the signals of this process.
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

    /// How many signals have come.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Whether a signal has come.
    pub fn requested(&self) -> bool {
        self.count() > 0
    }

    /// An [`Interrupted`] if a signal has come.
    pub fn check(&self) -> Result<()> {
        if self.requested() { Err(Interrupted.into()) } else { Ok(()) }
    }
}

/// The user stopped the command: no failure of ours, but no success either.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}
