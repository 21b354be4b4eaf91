//! The names of contents in the content store.

use database::Id;

/// Length of a SHA-256 in hexadecimal digits.
const HASH_DIGITS: usize = 64;
/// Length of a shard's name in hexadecimal digits.
const SHARD_DIGITS: usize = 2;

/// The unique name of a content: its SHA-256 in hexadecimal, `-`, and an id that was never used before.
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
        let is_lower_hex = hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        // Names from before names were unique are the hash alone.
        let is_suffix = suffix.is_empty() || suffix.strip_prefix('-').and_then(Id::parse).is_some();
        let is_in_shard = shard.len() == SHARD_DIGITS && hash.starts_with(shard);
        (is_lower_hex && is_suffix && is_in_shard).then(|| Self(name.to_owned()))
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

/// Wraps a name from the database.
impl From<String> for ContentName {
    fn from(name: String) -> Self {
        Self(name)
    }
}
