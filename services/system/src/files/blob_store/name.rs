//! The names of contents in the content store, and of smaller copies of images beside them.

use database::Id;

/// Length of a SHA-256 in hexadecimal digits.
const HASH_DIGITS: usize = 64;
/// Length of a shard's name in hexadecimal digits.
const SHARD_DIGITS: usize = 2;

/// The unique name of a content: its SHA-256 in hexadecimal, `-`, and an id that was never used before. A smaller copy
/// of an image has the name of its content, and `.320.webp` after it: the width and the type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ContentName(String);

impl ContentName {
    /// Creates a new name for content with this hash.
    pub(crate) fn new(hash: &str) -> Self {
        Self(format!("{hash}-{}", Id::new()))
    }

    /// Parses the name of a content in a shard. Returns `None` for the names of other files.
    pub(super) fn parse(shard: &str, name: &str) -> Option<Self> {
        let (hash, suffix) = name.split_at_checked(HASH_DIGITS)?;
        let (suffix, copy) = suffix.split_once('.').map_or((suffix, None), |(id, copy)| (id, Some(copy)));
        let is_lower_hex = hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        // Names from before names were unique are the hash alone.
        let is_suffix = suffix.is_empty() || suffix.strip_prefix('-').and_then(Id::parse).is_some();
        let is_in_shard = shard.len() == SHARD_DIGITS && hash.starts_with(shard);
        let is_copy = copy.is_none_or(is_width_and_type);
        (is_lower_hex && is_suffix && is_copy && is_in_shard).then(|| Self(name.to_owned()))
    }

    /// Returns the name of a smaller copy of this image.
    pub(crate) fn copy(&self, width: u32, file_type: &str) -> Self {
        Self(format!("{}.{width}.{file_type}", self.0))
    }

    /// Returns the name of the content that this is a smaller copy of, or `None` if this is a content.
    pub(crate) fn original(&self) -> Option<Self> {
        self.0.split_once('.').map(|(content, _)| Self(content.to_owned()))
    }

    /// Returns the SHA-256 of the content in hexadecimal.
    pub(crate) fn hash(&self) -> &str {
        self.0.get(..HASH_DIGITS).unwrap_or_default()
    }

    /// Returns the name of the folder that has the content. Shards keep folders small, since some file systems list
    /// large folders slowly.
    pub(super) fn shard(&self) -> &str {
        self.0.get(..SHARD_DIGITS).unwrap_or_default()
    }

    /// Returns the whole name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns true for a text such as `320.webp`.
fn is_width_and_type(text: &str) -> bool {
    text.split_once('.').is_some_and(|(width, file_type)| {
        !width.is_empty()
            && width.bytes().all(|b| b.is_ascii_digit())
            && !file_type.is_empty()
            && file_type.bytes().all(|b| b.is_ascii_lowercase())
    })
}

/// Wraps a name from the database.
impl From<String> for ContentName {
    fn from(name: String) -> Self {
        Self(name)
    }
}
