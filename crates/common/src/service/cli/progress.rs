//! The progress of a backup on standard error.

use std::time::{Duration, Instant};

use database::BackupProgress;

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

    /// Prints the progress on standard error, if the last line is old enough.
    pub(super) fn print(&mut self, progress: BackupProgress) {
        if self.last_printed.elapsed() < PRINT_INTERVAL {
            return;
        }
        self.last_printed = Instant::now();
        match progress {
            BackupProgress::Copying { copied, total } => {
                eprintln!("{} % copied", i64::from(copied) * 100 / i64::from(total.max(1)));
            }
            BackupProgress::Checking => eprintln!("copied; checking the copy"),
        }
    }
}
