//! The responses of the operations on files.

mod content;
mod file;
mod link;
mod resolved;

pub(super) use content::{CachePolicy, Representation, content_response};
pub(super) use file::{Binary, FileInfo, FileStatus, StorageUsage, Uploaded};
pub(super) use link::{FileLink, Link};
pub(super) use resolved::{FileView, resolved};
