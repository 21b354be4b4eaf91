//! The maximum number of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Returns the maximum number of connections: the configured number, but at most three quarters of the files that the
/// process may open. Raises the soft limit on open files to the hard limit, as every process may.
pub(super) fn max_connections(configured: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let files = if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    configured.min(files / 4 * 3).max(1)
}
