//! The SQLite files in use, the database and its write-ahead log, and whether their paths still lead to them.
//!
//! SQLite goes on with a file that was unlinked or replaced, and what it writes there is lost at the next start.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// An open SQLite database. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: Watched,
    /// The write-ahead log. The writer's connection keeps it in place: SQLite removes it with the last connection, and a
    /// checkpoint only overwrites or truncates it. `None` on file systems where SQLite cannot have one.
    log: Option<Watched>,
    /// Whether it was logged that a file is gone.
    is_reported: AtomicBool,
    /// Whether the writer's connection closes. SQLite may remove the log then.
    is_closing: AtomicBool,
}

/// A file that was at a path.
#[derive(Debug)]
struct Watched {
    what: &'static str,
    path: PathBuf,
    identity: Identity,
}

/// Device and inode. An inode is not used again while the file is open.
type Identity = (u64, u64);

impl OpenFile {
    /// Remembers the files of a database that the writer's connection has just opened.
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        let unreadable =
            |e: io::Error| Error::Setup(format!("cannot read the database {}: {e}", path.display()));
        let database = Watched::new("database file", path.to_owned()).map_err(unreadable)?;
        // SQLite puts the log beside the file that a link leads to.
        let mut log = path.canonicalize().map_err(unreadable)?.into_os_string();
        log.push("-wal");
        let log = Watched::new("write-ahead log of the database", log.into()).ok();
        let (is_reported, is_closing) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self(Arc::new(Inner { database, log, is_reported, is_closing })))
    }

    /// Checks that the paths still lead to the files, with one system call each. A change is logged once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if one leads to nothing or to another file.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let inner = &*self.0;
        let Some((Watched { what, path, .. }, reason)) = inner.lost() else {
            if inner.is_reported.swap(false, Ordering::Relaxed) {
                tracing::info!(path = %inner.database.path.display(), "the database is in its place again");
            }
            return Ok(());
        };
        let path = path.display();
        if !inner.is_reported.swap(true, Ordering::Relaxed) {
            tracing::error!(
                %path,
                reason,
                "the {what} in use is gone: nothing is written until it is back; stop the service and restore a backup"
            );
        }
        Err(Error::Unavailable(format!("the {what} {path} is gone: {reason}")))
    }

    /// Says that the writer's connection closes now, so that the log is not missed.
    pub(crate) fn close(&self) {
        self.0.is_closing.store(true, Ordering::SeqCst);
    }
}

impl Inner {
    /// The first file whose path does not lead to it, and why.
    fn lost(&self) -> Option<(&Watched, String)> {
        let files = [Some(&self.database), self.log.as_ref()].into_iter().flatten();
        let mut lost = files.filter_map(|file| file.lost().map(|reason| (file, reason)));
        // Looked at last: SQLite removes the log only after this was set.
        lost.next()
            .filter(|(file, _)| file.path == self.database.path || !self.is_closing.load(Ordering::SeqCst))
    }
}

impl Watched {
    fn new(what: &'static str, path: PathBuf) -> io::Result<Self> {
        let identity = identity(&path)?;
        Ok(Self { what, path, identity })
    }

    /// Why the path does not lead to the file, if so.
    fn lost(&self) -> Option<String> {
        match identity(&self.path) {
            Ok(found) if found == self.identity => None,
            Ok(_) => Some("another file is in its place".to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}
