//! The progress of a backup on standard error.

use std::time::{Duration, Instant};

use database::Progress;

/// How often progress is printed.
const PRINT_INTERVAL: Duration = Duration::from_secs(2);

/// Prints progress at most once per interval.
pub(super) struct ProgressPrinter {
    last_printed: Instant,
}

impl ProgressPrinter {
    /// Creates a printer whose first line appears after an interval.
    pub(super) fn new() -> Self {
        Self { last_printed: Instant::now() }
    }

    pub(super) fn print(&mut self, progress: Progress) {
        if self.last_printed.elapsed() < PRINT_INTERVAL {
            return;
        }
        self.last_printed = Instant::now();
        match progress {
            Progress::Copied(pages, total) => {
                eprintln!("{} % copied", i64::from(pages) * 100 / i64::from(total.max(1)));
            }
            Progress::Checking => eprintln!("copied; checking the copy"),
        }
    }
}
