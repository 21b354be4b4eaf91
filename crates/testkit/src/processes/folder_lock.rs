//! A lock on a data folder: two stacks over the same databases and files would corrupt them.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

/// Name of the lock file in the data folder. It is never removed.
const LOCK_FILE: &str = "up.lock";

/// A locked data folder. The lock ends with the last process that [inherited](Self::inherited) it.
#[derive(Debug)]
pub struct FolderLock(File);

impl FolderLock {
    /// Locks a data folder.
    ///
    /// # Errors
    /// Another process holds the lock; the message names it and says what to do.
    pub fn acquire(data: &Path) -> Result<Self> {
        let path = data.join(LOCK_FILE);
        let shown = path.display();
        let open = File::options().create(true).read(true).append(true).open(&path);
        let mut file =
            open.with_context(|| format!("cannot open {shown}: choose another folder with --data"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder).with_context(|| format!("cannot read {shown}"))?;
                bail!(
                    "folder {} is in use by process {} or by services that it started: stop it (Ctrl-C), or choose \
                     another folder with --data and other ports with --port",
                    data.display(),
                    holder.trim()
                );
            }
            Err(TryLockError::Error(error)) => {
                return Err(error)
                    .with_context(|| format!("cannot lock {shown}: choose another folder with --data"));
            }
        }
        let id = std::process::id();
        file.set_len(0)
            .and_then(|()| writeln!(file, "{id}"))
            .with_context(|| format!("cannot write {shown}"))?;
        Ok(Self(file))
    }

    /// Standard input for a service: it holds the lock while it runs, even after this process was killed.
    pub fn inherited(&self) -> Result<Stdio> {
        Ok(self.0.try_clone().context("cannot share the lock of the data folder")?.into())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_folder_is_locked_once_and_for_as_long_as_a_service_runs() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::acquire(folder.path()).unwrap();
        let message = FolderLock::acquire(folder.path()).unwrap_err().to_string();
        for part in [folder.path().to_str().unwrap(), &std::process::id().to_string(), "--data", "Ctrl-C"] {
            assert!(message.contains(part), "{message}");
        }
        let mut child = Command::new("sleep").arg("60").stdin(lock.inherited().unwrap()).spawn().unwrap();
        drop(lock);
        let still = FolderLock::acquire(folder.path()).is_err();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(still, "the service holds it");
        // A process that another test is just starting has a copy of every open file until its program begins.
        let begun = Instant::now();
        while let Err(error) = FolderLock::acquire(folder.path()) {
            assert!(begun.elapsed() < Duration::from_secs(10), "{error}");
            sleep(Duration::from_millis(10));
        }
    }
}
