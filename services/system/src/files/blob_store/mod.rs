//! The blob store: the contents of files, in a folder or an object store.
//!
//! A blob is the content of a file, or a smaller copy of an image, under a name in this store. Equal contents of
//! several files are one blob. Which blobs are in use is known by [their rows](super::store::blobs), not here.
//!
//! Uploaded content is first [staged](Staging) in a local file, whatever the store is. Its hash, which identifies equal
//! content, is known only at the end, and content that fails validation never reaches the store. [`BlobStore::put`]
//! stores it durably as a blob. Rows refer to the blob only after that.
//!
//! **What may be removed.** Each time content is stored, the blob gets a [name](BlobName) that was never used before.
//! A row has the name that is in use for each hash. These rows are inserted together with the rows of files and are
//! deleted only with their blob. A row for a blob that was stored longer ago than half of the grace period is refused.
//! So a blob that is older than the grace period and has no row will never have one, and the [sweep](super::sweep) can
//! remove it. A concurrent upload of the same content finds no row and stores its own blob under another name.

mod cloud;
mod local;
mod reading;
mod staging;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::time::SystemTime;

use actix_web::body::BoxBody;
use anyhow::ensure;
use common::Error;
use common::cli::Checks;
use database::Id;
use futures_util::stream::BoxStream;

pub(crate) use staging::{Staged, Staging, StoredBlobs};

use crate::Settings;
use crate::config::setting;
use cloud::CloudStore;
use local::LocalStore;

/// The name of the blob store in error messages.
const STORE: &str = "The file store";
/// Length of a SHA-256 in hexadecimal digits.
const HASH_DIGITS: usize = 64;
/// Length of a shard's name in hexadecimal digits.
const SHARD_DIGITS: usize = 2;
/// Blobs per batch of [`BlobStore::list`].
const LIST_BATCH: usize = 1000;

/// A store of blobs. Clones are cheap and share the store.
#[derive(Clone, Debug)]
pub(crate) enum BlobStore {
    /// A folder of this machine.
    Local(LocalStore),
    /// An object store.
    Cloud(CloudStore),
}

/// A blob in the store.
#[derive(Debug)]
pub(crate) struct BlobEntry {
    /// Its name in the store.
    pub name: BlobName,
    /// Size in bytes.
    pub size: u64,
    /// When the blob was stored.
    pub modified: SystemTime,
}

impl BlobStore {
    /// Opens the store of `service.store_url`. Tolerates an object store that does not respond yet.
    ///
    /// # Errors
    /// One sentence that says which setting to change.
    pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Self> {
        match settings.store_url.strip_prefix("file://") {
            Some(folder) => Ok(Self::Local(LocalStore::open(folder)?)),
            None => Ok(Self::Cloud(CloudStore::open(settings).await?)),
        }
    }

    /// Starts staging new content. Writes nothing yet.
    pub(crate) fn stage(&self) -> Staging {
        match self {
            Self::Local(local) => Staging::new(Some(local.staging_folder())),
            Self::Cloud(_) => Staging::new(None),
        }
    }

    /// Stores content durably as a blob.
    ///
    /// # Errors
    /// 503 if the store does not accept the content. It may then have an orphan, which nothing refers to.
    pub(crate) async fn put(&self, staged: Staged, name: &BlobName) -> Result<(), Error> {
        match self {
            Self::Local(local) => local.put(staged, name).await,
            Self::Cloud(cloud) => cloud.put(&staged, name).await,
        }
    }

    /// Returns true if the store has the complete blob of `size` bytes.
    ///
    /// # Errors
    /// 503 if the store is unavailable.
    pub(crate) async fn contains(&self, name: &BlobName, size: u64) -> Result<bool, Error> {
        Ok(self.size(name).await? == Some(size))
    }

    /// Returns the size of a blob in bytes, or `None` if the store does not have it.
    ///
    /// # Errors
    /// 503 if the store is unavailable.
    pub(crate) async fn size(&self, name: &BlobName) -> Result<Option<u64>, Error> {
        match self {
            Self::Local(local) => local.size(name).await,
            Self::Cloud(cloud) => cloud.size(name).await,
        }
    }

    /// Opens a blob of `size` bytes for reading at any position. A blob of an object store is copied into a file
    /// without a name first.
    ///
    /// # Errors
    /// 500 if the blob is missing, 503 if the store or the disk is unavailable.
    pub(crate) async fn open_blob(&self, name: &BlobName, size: u64) -> Result<File, Error> {
        match self {
            Self::Local(local) => local.open_blob(name).await,
            Self::Cloud(cloud) => cloud.download(name, size).await,
        }
    }

    /// Returns a range of bytes of a blob as a response body. A long range is read while it is sent.
    ///
    /// # Errors
    /// 500 if the blob is missing, 503 if it cannot be read or the store is unavailable.
    pub(crate) async fn read(&self, name: &BlobName, range: Range<u64>) -> Result<BoxBody, Error> {
        match self {
            Self::Local(local) => local.read(name, range).await,
            Self::Cloud(cloud) => cloud.read(name, range).await,
        }
    }

    /// Returns true if the store responds.
    pub(crate) async fn is_reachable(&self) -> bool {
        match self {
            Self::Local(local) => local.is_reachable().await,
            Self::Cloud(cloud) => cloud.is_reachable().await,
        }
    }

    /// Lists all blobs in batches of up to [`LIST_BATCH`]. Skips everything whose name is not that of a blob.
    pub(crate) fn list(&self) -> BoxStream<'_, Result<Vec<BlobEntry>, Error>> {
        match self {
            Self::Local(local) => Box::pin(local.list()),
            Self::Cloud(cloud) => Box::pin(cloud.list()),
        }
    }

    /// Removes blobs. Ignores those that do not exist.
    ///
    /// # Errors
    /// 503 if some could not be removed.
    pub(crate) async fn remove(&self, names: Vec<BlobName>) -> Result<(), Error> {
        match self {
            Self::Local(local) => local.remove(names).await,
            Self::Cloud(cloud) => cloud.remove(&names).await,
        }
    }

    /// Removes the staged files of uploads that a crash interrupted, and returns their number.
    ///
    /// # Errors
    /// 503 if some could not be removed.
    pub(crate) async fn remove_stale_uploads(&self) -> Result<usize, Error> {
        match self {
            Self::Local(local) => local.remove_stale_uploads().await,
            // Staged files of uploads to an object store have no names. A rule of the store aborts multipart uploads.
            Self::Cloud(_) => Ok(0),
        }
    }

    /// Checks the settings of the store, and that a blob can be written, read and removed.
    pub(crate) async fn check(settings: &Settings, checks: &mut Checks) {
        let remedy = format!("change {} or the settings of the store beside it", setting("store_url"));
        let is_folder = settings.store_url.starts_with("file://");
        let invalid = if is_folder { None } else { CloudStore::build(settings).err() };
        match invalid {
            // Also without a network.
            Some(error) => checks.run("store", &remedy, async { Err(error) }).await,
            None if is_folder => checks.run("store", &remedy, try_out(settings)).await,
            None => checks.run_online("store", &remedy, try_out(settings)).await,
        }
    }
}

/// The unique name of a blob: its SHA-256 in hexadecimal, `-`, and an id that was never used before. A smaller copy
/// of an image has the name of the blob of that image, and `.320.webp` after it: the width and the type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlobName(String);

impl BlobName {
    /// Creates a new name for content with this hash.
    pub(crate) fn new(hash: &str) -> Self {
        Self(format!("{hash}-{}", Id::new()))
    }

    /// Parses the name of a blob in a shard. Returns `None` for the names of other files.
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

    /// Returns the name of the blob that this is a smaller copy of, or `None` if this is no copy.
    pub(crate) fn original(&self) -> Option<Self> {
        self.0.split_once('.').map(|(blob, _)| Self(blob.to_owned()))
    }

    /// Returns the SHA-256 of the content in hexadecimal.
    pub(crate) fn hash(&self) -> &str {
        self.0.get(..HASH_DIGITS).unwrap_or_default()
    }

    /// Returns the name of the folder that has the blob. Shards keep folders small, since some file systems list
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
impl From<String> for BlobName {
    fn from(name: String) -> Self {
        Self(name)
    }
}

/// Stores a blob, reads it, and removes it. Returns where it was, for people.
async fn try_out(settings: &Settings) -> anyhow::Result<String> {
    let store = BlobStore::open(settings).await?;
    let mut staging = store.stage();
    staging.push(b"written by check-config").await.map_err(cause)?;
    let staged = staging.finish().await.map_err(cause)?;
    let (name, size) = (BlobName::new(&staged.hash), staged.size);
    store.put(staged, &name).await.map_err(cause)?;
    let stored = store.contains(&name, size).await;
    let read = store.read(&name, 0..size).await.map(drop);
    store.remove(vec![name]).await.map_err(cause)?;
    ensure!(stored.map_err(cause)?, "the store lacks what was just written");
    read.map_err(cause)?;
    Ok(settings.store_url.clone())
}

/// Returns the cause, which responses do not contain.
fn cause(error: Error) -> anyhow::Error {
    match error {
        Error::Unavailable(cause, _) | Error::Internal(cause) => cause,
        other => other.into(),
    }
}

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

/// Returns 500 for a blob that has a row but is not in the store. A retry does not help.
pub(super) fn missing(cause: impl Into<anyhow::Error>) -> Error {
    Error::Internal(cause.into().context("content is missing in the store"))
}
