//! The requests of the operations on files.

mod resolve;
pub(super) mod text;

pub(super) use resolve::ResolveFiles;
