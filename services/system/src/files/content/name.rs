//! What contents are called in a store.

use database::Id;

/// The length of a hash in hex.
const HASH: usize = 64;

/// The hash of a content, and an id that makes the name one that was never used before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(String);

impl Name {
    /// A new name for content with this hash.
    pub fn new(hash: &str) -> Self {
        Self(format!("{hash}-{}", Id::new()))
    }

    /// The content that lies in a folder under a name; none for what is not ours.
    pub(super) fn at(folder: &str, name: &str) -> Option<Self> {
        let (hash, rest) = name.split_at_checked(HASH)?;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        // Before names were used once, they were the hash alone.
        let id = rest.is_empty() || rest.strip_prefix('-').and_then(Id::parse).is_some();
        (hash.bytes().all(hex) && hash.starts_with(folder) && folder.len() == 2 && id)
            .then(|| Self(name.to_owned()))
    }

    /// SHA-256 in hex.
    pub fn hash(&self) -> &str {
        self.0.get(..HASH).unwrap_or_default()
    }

    /// The folder it lies in: so many contents in one would be slow to list on some file systems.
    pub(super) fn folder(&self) -> &str {
        self.0.get(..2).unwrap_or_default()
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// As the database has it.
impl From<String> for Name {
    fn from(name: String) -> Self {
        Self(name)
    }
}
