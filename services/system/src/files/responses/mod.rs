//! The responses of the operations on files.

mod file;
mod link;
mod resolved;

pub(super) use file::{Binary, FileInfo, FileStatus, StorageUsage, Uploaded};
pub(super) use link::{FileLink, Link};
pub(super) use resolved::{FileView, resolved};
