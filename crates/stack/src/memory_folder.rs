//! Temporary files of tests in memory: they need not survive, and PostgreSQL clones a database ten times as fast there.

use std::path::Path;
use std::{env, fs};

use rustix::fs::StatVfsMountFlags;

/// A file system in memory on Linux.
const FOLDER: &str = "/dev/shm";
/// Free space that it must have. The tests need up to 2 GiB at once.
const MIN_FREE_BYTES: u64 = 4 << 30;
/// Memory that must be available, for the files and for the tests themselves.
const MIN_AVAILABLE_BYTES: u64 = 10 << 30;

/// Puts the temporary files of this process into memory, unless `TMPDIR` names a folder, there is little memory, or
/// programs cannot be executed there. Programs that this process starts need [`variable`].
pub fn use_memory() {
    let is_suitable = env::var_os("TMPDIR").is_none()
        && free_bytes(Path::new(FOLDER)).is_some_and(|free| free >= MIN_FREE_BYTES)
        && available_bytes().is_some_and(|available| available >= MIN_AVAILABLE_BYTES);
    // It fails if this was called before.
    if is_suitable && tempfile::env::override_temp_dir(Path::new(FOLDER)).is_ok() {
        eprintln!("temporary files are in memory, in {FOLDER}: set TMPDIR to have them elsewhere");
    }
}

/// The variable that names the folder of this process for temporary files.
pub fn variable() -> (&'static str, String) {
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
