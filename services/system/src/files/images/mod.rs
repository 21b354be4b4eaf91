//! Smaller copies of images (`docs/api/files.md`, "Smaller images"; `docs/decisions/0045-images.md`).
//!
//! A copy is made when it is first asked for, and kept in the content store beside its content, under the content's
//! name with the width and the encoding. No row refers to it: a request looks for it in the store, and makes it if it
//! is not there. Archiving a file removes the copies of its content unless another file has the same content, and the
//! sweep removes copies that were left.

mod copies;
mod decodes;
mod image_copy;
mod metrics;
mod width;

pub(crate) use copies::ImageCopies;
pub(super) use copies::{CopyContent, FoundCopy};
pub(super) use image_copy::{ImageCopy, file_name};
pub(crate) use metrics::register_metrics;
pub(crate) use width::Width;
