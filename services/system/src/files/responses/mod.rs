//! The responses of the operations on files.

mod content;
mod file;
mod resolved;

pub(super) use content::content_response;
pub(super) use file::{Binary, FileInfo, Uploaded};
pub(super) use resolved::{FileView, resolved};
