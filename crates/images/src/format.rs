//! The formats of images that can be decoded.

/// A format of images that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG. Of an animation the first image.
    Png,
    /// GIF. Of an animation the first image.
    Gif,
    /// WebP. Of an animation the first image.
    WebP,
}

impl Format {
    /// Returns the format of a media type, or `None` for types that cannot be decoded.
    pub fn of(media_type: &str) -> Option<Self> {
        Some(match media_type {
            "image/jpeg" => Self::Jpeg,
            "image/png" => Self::Png,
            "image/gif" => Self::Gif,
            "image/webp" => Self::WebP,
            _ => return None,
        })
    }
}
