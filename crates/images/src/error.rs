//! Why there is no smaller copy of an image.

use std::io;

/// Why there is no smaller copy of an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The image has more than [`MAX_PIXELS`](crate::MAX_PIXELS).
    #[error("the image has {0} pixels")]
    TooManyPixels(u64),
    /// The content is no complete image of its format, uses a rare feature of it, or takes too much memory or time.
    #[error("the image cannot be decoded: {0}")]
    Undecodable(String),
    /// The content cannot be read.
    #[error("the content cannot be read")]
    Io(#[source] io::Error),
}

impl ImageError {
    /// Returns the error for content that cannot be decoded.
    pub(crate) fn undecodable(cause: impl ToString) -> Self {
        Self::Undecodable(cause.to_string())
    }
}

/// A read error of truncated content says that it ends too early. Others come from the disk.
impl From<io::Error> for ImageError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
                Self::undecodable(error)
            }
            _ => Self::Io(error),
        }
    }
}

impl From<jpeg_decoder::Error> for ImageError {
    fn from(error: jpeg_decoder::Error) -> Self {
        match error {
            jpeg_decoder::Error::Io(error) => error.into(),
            other => Self::undecodable(other),
        }
    }
}

impl From<png::DecodingError> for ImageError {
    fn from(error: png::DecodingError) -> Self {
        match error {
            png::DecodingError::IoError(error) => error.into(),
            other => Self::undecodable(other),
        }
    }
}

impl From<gif::DecodingError> for ImageError {
    fn from(error: gif::DecodingError) -> Self {
        match error {
            gif::DecodingError::Io(error) => error.into(),
            other => Self::undecodable(other),
        }
    }
}
