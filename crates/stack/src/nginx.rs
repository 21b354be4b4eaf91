//! Commands that run nginx.

use std::path::Path;
use std::process::Command;

/// Returns a command whose worker processes run as the current user and so can read the folders of a trial.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        command.args(["-g", "user root;"]);
    }
    command
}
