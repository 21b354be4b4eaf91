//! The SQLite file in use, and whether its path still leads to it.
//!
//! SQLite goes on with a file that was unlinked or replaced, and everything that it writes is lost at the next start.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// An open SQLite file. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    identity: Identity,
    /// Whether it was logged that the file is gone.
    is_reported: AtomicBool,
}

/// Device and inode. An inode is not used again while the file is open.
type Identity = (u64, u64);

impl OpenFile {
    /// Remembers the file at a path that was just opened.
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        let identity = identity(path)
            .map_err(|e| Error::Setup(format!("cannot read the database {}: {e}", path.display())))?;
        let is_reported = AtomicBool::new(false);
        Ok(Self(Arc::new(Inner { path: path.to_owned(), identity, is_reported })))
    }

    /// Checks that the path still leads to the file, with one system call. A change is logged once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it leads to nothing or to another file.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let file = &*self.0;
        let found = identity(&file.path);
        let path = file.path.display();
        if found.as_ref().is_ok_and(|found| *found == file.identity) {
            if file.is_reported.swap(false, Ordering::Relaxed) {
                tracing::info!(%path, "the database file is in its place again");
            }
            return Ok(());
        }
        let reason = match found {
            Ok(_) => "another file is in its place".to_owned(),
            Err(error) => error.to_string(),
        };
        if !file.is_reported.swap(true, Ordering::Relaxed) {
            tracing::error!(
                %path,
                reason,
                "the database file in use is gone: nothing is written until it is back; stop the service and \
                 restore a backup"
            );
        }
        Err(Error::Unavailable(format!("the database file {path} is gone: {reason}")))
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}
