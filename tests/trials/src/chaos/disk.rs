//! A small disk that can be filled.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use stack::trial::Trial;

/// Enough for a few services with little data.
const SIZE: &str = "size=48m";
/// A disk is full if so many attempts in sequence find no space.
const FULL_ATTEMPTS: u32 = 20;
/// Limit of the attempts. Services may free space all the time.
const MAX_FILL_ATTEMPTS: u32 = 100;
/// Interval of the attempts.
const FILL_INTERVAL: Duration = Duration::from_millis(10);

/// A mounted tmpfs. It is unmounted when it is dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a disk in the trial's folder. Returns none in the short form if this program may not mount.
    ///
    /// # Errors
    /// The disk cannot be mounted in the long form, under CI or as root.
    pub fn mount(trial: &Trial<'_>, name: &str) -> Result<Option<Self>> {
        let path = trial.path(name);
        fs::create_dir(&path).context("cannot make a mount point")?;
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(&path).output();
        let reason = match mounted {
            Ok(output) if output.status.success() => return Ok(Some(Self(path))),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        let is_ci = env::var("CI").is_ok_and(|ci| ci == "true");
        if !trial.short || is_ci || rustix::process::geteuid().is_root() {
            bail!(
                "cannot mount a tmpfs ({reason}): run this as root where `mount` is allowed, in a container with \
                 CAP_SYS_ADMIN"
            );
        }
        Ok(None)
    }

    /// Path of the disk.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Fills the disk to the last byte, also with what requests in progress free meanwhile.
    pub fn fill(&self) -> Result<()> {
        let mut file = File::create(self.filler()).context("cannot create a file that fills the disk")?;
        let mut attempts_without_space = 0;
        for _ in 0..MAX_FILL_ATTEMPTS {
            let before = file.metadata()?.len();
            for size in [1 << 20, 1 << 12, 1] {
                while file.write_all(&vec![0; size]).is_ok() {}
            }
            attempts_without_space =
                if file.metadata()?.len() == before { attempts_without_space + 1 } else { 0 };
            if attempts_without_space == FULL_ATTEMPTS {
                break;
            }
            thread::sleep(FILL_INTERVAL);
        }
        Ok(())
    }

    /// Frees the space again.
    pub fn clear(&self) -> Result<()> {
        fs::remove_file(self.filler()).context("cannot remove the file that fills the disk")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: services that still have files there end in a moment.
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).output();
        if !unmounted.is_ok_and(|output| output.status.success()) {
            let path = self.0.display();
            eprintln!("{path} is still mounted: unmount it with `sudo umount -l {path}`");
        }
    }
}
