//! Temporary files of tests in memory: they need not survive, and PostgreSQL clones a database ten times as fast there.

use std::env;
use std::path::Path;

/// A file system in memory on Linux.
const FOLDER: &str = "/dev/shm";
/// Free space that it must have. The tests need up to 2 GiB at once.
const MIN_FREE_BYTES: u64 = 4 << 30;

/// Puts the temporary files of this process into memory, unless `TMPDIR` names a folder or there is little space.
/// Programs that this process starts need [`variable`].
pub fn use_memory() {
    if env::var_os("TMPDIR").is_none()
        && free_bytes(Path::new(FOLDER)).is_some_and(|free| free >= MIN_FREE_BYTES)
    {
        // It fails if this was called before.
        let _ = tempfile::env::override_temp_dir(Path::new(FOLDER));
    }
}

/// The variable that names the folder of this process for temporary files.
pub fn variable() -> (&'static str, String) {
    ("TMPDIR", tempfile::env::temp_dir().display().to_string())
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(folder).ok()?;
    space.f_bavail.checked_mul(space.f_frsize)
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
