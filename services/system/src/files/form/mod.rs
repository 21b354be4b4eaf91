//! The requests of the operations on files.

mod resolve;
mod text;
mod upload;

pub(super) use resolve::ResolveFiles;
pub(super) use upload::{FileUploadForm, UploadForm, UploadedPart};
