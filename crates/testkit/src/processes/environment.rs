//! Environment variables of services and tests, and their folder for temporary files.

use std::path::Path;
use std::{env, fs};

use rustix::fs::StatVfsMountFlags;

/// Environment variables: names and values.
pub type Environment = Vec<(String, String)>;

/// Variable that names the worker of Citus, if the PostgreSQL server for tests is a coordinator.
pub const TEST_CITUS_WORKER: &str = "DROVER_TEST_CITUS_WORKER";

/// Variable that is `schema` if the tests let Citus place whole schemas instead of rows.
pub const TEST_CITUS_BY: &str = "DROVER_TEST_CITUS_BY";

/// Variables that name the servers for tests. The third is the path of redis-server, for tests that stop one.
pub const TEST_SERVERS: [&str; 4] =
    ["DROVER_TEST_POSTGRES", "DROVER_TEST_REDIS", "DROVER_TEST_REDIS_SERVER", "DROVER_TEST_S3"];

/// Names Drover's variables: `variables([("SERVER__HOST", "::1")])` sets `DROVER_SERVER__HOST`.
pub fn variables<'a>(settings: impl IntoIterator<Item = (&'a str, impl Into<String>)>) -> Environment {
    settings.into_iter().map(|(name, value)| (format!("DROVER_{name}"), value.into())).collect()
}

/// A file system in memory on Linux.
const MEMORY_FOLDER: &str = "/dev/shm";
/// Free space that it must have. The tests need up to 2 GiB at once.
const MIN_FREE_BYTES: u64 = 4 << 30;
/// Memory that must be available, for the files and for the tests themselves.
const MIN_AVAILABLE_BYTES: u64 = 10 << 30;

/// Puts the temporary files of this process into memory, unless `TMPDIR` names a folder, there is little memory, or
/// programs cannot be executed there. Programs that this process starts need [`temporary_folder`].
pub fn use_memory() {
    let is_suitable = env::var_os("TMPDIR").is_none()
        && free_bytes(Path::new(MEMORY_FOLDER)).is_some_and(|free| free >= MIN_FREE_BYTES)
        && available_bytes().is_some_and(|available| available >= MIN_AVAILABLE_BYTES);
    // It fails if this was called before.
    if is_suitable && tempfile::env::override_temp_dir(Path::new(MEMORY_FOLDER)).is_ok() {
        eprintln!("temporary files are in memory, in {MEMORY_FOLDER}: set TMPDIR to have them elsewhere");
    }
}

/// The variable that names the folder of this process for temporary files.
pub fn temporary_folder() -> (&'static str, String) {
    ("TMPDIR", tempfile::env::temp_dir().display().to_string())
}

/// Returns the free space of a folder, or `None` if it cannot have programs.
fn free_bytes(folder: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(folder).ok()?;
    let can_execute = !space.f_flag.contains(StatVfsMountFlags::NOEXEC);
    can_execute.then_some(space.f_bavail.checked_mul(space.f_frsize)?)
}

/// Returns the memory that Linux can give to programs, at most the limit of a container.
fn available_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?.trim().strip_suffix(" kB")?;
    let available = kib.parse::<u64>().ok()? << 10;
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|max| max.trim().parse().ok());
    Some(limit.map_or(available, |limit: u64| limit.min(available)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_folders_have_free_space() {
        assert!(free_bytes(&env::temp_dir()).is_some_and(|free| free > 0));
        assert_eq!(free_bytes(Path::new("/no/such/folder")), None);
    }
}
