//! SQLite: opening its files, the thread that writes, checkpoints of the write-ahead log, and backups.

pub(crate) mod backup;
mod checkpoints;
mod connect;
mod files;
mod vfs;
mod writer;

pub(crate) use checkpoints::checkpoint;
pub(crate) use connect::{SqliteMode, open_sqlite};
pub(crate) use files::SqliteFiles;
pub(crate) use writer::Writer;
