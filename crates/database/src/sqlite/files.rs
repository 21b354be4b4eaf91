//! Detection of removed or replaced SQLite files.
//!
//! SQLite continues to use a file that was unlinked or replaced. Everything that it writes there is lost at the next
//! start.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// The files of an open SQLite database. Clones share their state.
#[derive(Clone, Debug)]
pub(crate) struct SqliteFiles(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    database: WatchedFile,
    /// The write-ahead log, or `None` on file systems on which SQLite cannot use one. It exists as long as the writer's
    /// connection: SQLite removes it with the last connection, and a checkpoint only overwrites or truncates it.
    log: Option<WatchedFile>,
    /// True if a missing file was logged and is not back yet.
    is_reported: AtomicBool,
    /// True once the writer's connection may close. SQLite may then remove the log.
    is_closing: AtomicBool,
}

/// A path and the file that it led to when the database was opened.
#[derive(Debug)]
struct WatchedFile {
    description: &'static str,
    path: PathBuf,
    id: FileId,
}

/// Identifies a file. An inode is not reused while the file is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl SqliteFiles {
    /// Records the files of a database that the writer's connection has just opened.
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        let read_error =
            |e: io::Error| Error::Setup(format!("cannot read the database {}: {e}", path.display()));
        let database = WatchedFile::new("database file", path.to_owned()).map_err(read_error)?;
        // SQLite creates the log next to the target of a symbolic link.
        let mut log = path.canonicalize().map_err(read_error)?.into_os_string();
        log.push("-wal");
        let log = WatchedFile::new("write-ahead log of the database", log.into()).ok();
        let (is_reported, is_closing) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self(Arc::new(Inner { database, log, is_reported, is_closing })))
    }

    /// Checks that both paths still lead to the same files. Makes one system call for each file. Logs each change once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if a path leads to no file or to another one.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let inner = &*self.0;
        let Some((WatchedFile { description, path, .. }, reason)) = inner.first_missing() else {
            if inner.is_reported.swap(false, Ordering::Relaxed) {
                tracing::info!(path = %inner.database.path.display(), "the database files are back");
            }
            return Ok(());
        };
        let path = path.display();
        if !inner.is_reported.swap(true, Ordering::Relaxed) {
            tracing::error!(
                %path,
                reason,
                "the {description} in use is gone: writes fail until it is back; stop the service and restore a backup"
            );
        }
        Err(Error::unavailable(format!("the {description} {path} is gone: {reason}")))
    }

    /// Returns the size of the log file in bytes, or 0 if there is none.
    pub(crate) fn log_bytes(&self) -> u64 {
        let log = self.0.log.as_ref().and_then(|log| fs::metadata(&log.path).ok());
        log.map_or(0, |metadata| metadata.len())
    }

    /// Announces that the writer's connection closes, so that a removed log is no longer reported.
    pub(crate) fn close(&self) {
        self.0.is_closing.store(true, Ordering::SeqCst);
    }
}

impl Inner {
    /// Returns the first file that is missing or replaced, and the reason.
    fn first_missing(&self) -> Option<(&WatchedFile, String)> {
        let files = [Some(&self.database), self.log.as_ref()].into_iter().flatten();
        let mut missing = files.filter_map(|file| file.missing_reason().map(|reason| (file, reason)));
        // `is_closing` is read after the log: SQLite removes the log only once the flag is set.
        missing
            .next()
            .filter(|(file, _)| file.path == self.database.path || !self.is_closing.load(Ordering::SeqCst))
    }
}

impl WatchedFile {
    fn new(description: &'static str, path: PathBuf) -> io::Result<Self> {
        let id = FileId::of(&path)?;
        Ok(Self { description, path, id })
    }

    /// Returns the reason why the path does not lead to the file, or `None` if it does.
    fn missing_reason(&self) -> Option<String> {
        match FileId::of(&self.path) {
            Ok(id) if id == self.id => None,
            Ok(_) => Some("another file is in its place".to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl FileId {
    fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self { device: metadata.dev(), inode: metadata.ino() })
    }
}
