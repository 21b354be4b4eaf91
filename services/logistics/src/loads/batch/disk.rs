//! Errors of the temporary folder.

use std::io;

use common::Error;

/// Returns 503 for an error of the temporary folder, which may be full or missing.
pub(crate) fn disk_error(error: io::Error) -> Error {
    Error::Unavailable(error.into(), "The temporary folder")
}
