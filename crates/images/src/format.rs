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
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    /// Returns the format of a media type, or `None` for types that cannot be decoded.
    pub fn of(media_type: &str) -> Option<Self> {
        [Self::Jpeg, Self::Png, Self::Gif, Self::WebP]
            .into_iter()
            .find(|format| format.media_type() == media_type)
    }
}
