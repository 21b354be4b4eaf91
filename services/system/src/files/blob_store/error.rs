//! Errors of the content store.

use std::io;

use common::Error;

/// The name of the content store in error messages.
const STORE: &str = "The file store";

/// Runs file operations on a thread where they may block.
pub(super) async fn blocking<T: Send + 'static>(
    f: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let result = tokio::task::spawn_blocking(f).await.map_err(|e| Error::Internal(e.into()))?;
    result.map_err(unavailable)
}

/// Returns 503.
pub(super) fn unavailable(cause: impl Into<anyhow::Error>) -> Error {
    Error::Unavailable(cause.into(), STORE)
}

/// Returns 500 for content that has a row but is not in the store. A retry does not help.
pub(super) fn missing(cause: impl Into<anyhow::Error>) -> Error {
    Error::Internal(cause.into().context("content is missing in the store"))
}
