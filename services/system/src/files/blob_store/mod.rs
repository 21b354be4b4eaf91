//! The content store: the contents of files, in a folder or a bucket.
//!
//! Uploaded content is first [staged](Staging) in a local file, whatever the store is. Its hash, which identifies equal
//! content, is known only at the end, and content that fails validation never reaches the store. [`ContentStore::put`]
//! stores content durably. Rows refer to content only after that.
//!
//! **What may be removed.** Each time content is stored, it gets a [name](ContentName) that was never used before. The
//! table `contents` has the name that is in use for each hash. Its rows are inserted together with the rows of files
//! and are deleted only with their content (see [`contents`](super::contents)). A row for content that was stored
//! longer ago than half of the grace period is refused. So content that is older than the grace period and has no row
//! will never have one, and the [sweep](super::sweep) can remove it. A concurrent upload of the same content finds no
//! row and stores its own content under another name.

mod builder;
mod check;
mod cloud;
mod error;
mod local;
mod name;
mod reading;
mod staging;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::ops::Range;
use std::time::SystemTime;

use actix_web::body::BoxBody;
use common::Error;
use futures_util::stream::BoxStream;

pub(crate) use name::ContentName;
pub(crate) use staging::{Staged, Staging};

use crate::Settings;
use cloud::CloudStore;
use local::LocalStore;

/// Contents per batch of [`ContentStore::list`].
const LIST_BATCH: usize = 1000;

/// A store of contents. Clones are cheap and share the store.
#[derive(Clone, Debug)]
pub(crate) enum ContentStore {
    /// A folder of this machine.
    Local(LocalStore),
    /// A bucket.
    Cloud(CloudStore),
}

/// A content in the store.
#[derive(Debug)]
pub(crate) struct ContentEntry {
    /// Its name in the store.
    pub name: ContentName,
    /// Size in bytes.
    pub size: u64,
    /// When the content was stored.
    pub modified: SystemTime,
}

impl ContentStore {
    /// Opens the store of `service.store_url`. Tolerates a bucket that does not respond yet.
    ///
    /// # Errors
    /// One sentence that says which setting to change.
    pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Self> {
        match settings.store_url.strip_prefix("file://") {
            Some(folder) => Ok(Self::Local(LocalStore::open(folder)?)),
            None => Ok(Self::Cloud(builder::open_bucket(settings).await?)),
        }
    }

    /// Starts staging new content. Writes nothing yet.
    pub(crate) fn stage(&self) -> Staging {
        match self {
            Self::Local(local) => Staging::new(Some(local.staging_folder())),
            Self::Cloud(_) => Staging::new(None),
        }
    }

    /// Stores content durably.
    ///
    /// # Errors
    /// 503 if the store does not accept the content. It may then have an orphan, which nothing refers to.
    pub(crate) async fn put(&self, staged: Staged, name: &ContentName) -> Result<(), Error> {
        match self {
            Self::Local(local) => local.put(staged, name).await,
            Self::Cloud(cloud) => cloud.put(&staged, name).await,
        }
    }

    /// Returns true if the store has the complete content of `size` bytes.
    ///
    /// # Errors
    /// 503 if the store is unavailable.
    pub(crate) async fn contains(&self, name: &ContentName, size: u64) -> Result<bool, Error> {
        Ok(self.size(name).await? == Some(size))
    }

    /// Returns the size of a content in bytes, or `None` if the store does not have it.
    ///
    /// # Errors
    /// 503 if the store is unavailable.
    pub(crate) async fn size(&self, name: &ContentName) -> Result<Option<u64>, Error> {
        match self {
            Self::Local(local) => local.size(name).await,
            Self::Cloud(cloud) => cloud.size(name).await,
        }
    }

    /// Opens a content of `size` bytes for reading at any position. Content of a bucket is copied into a file without a
    /// name first.
    ///
    /// # Errors
    /// 500 if the content is missing, 503 if the store or the disk is unavailable.
    pub(crate) async fn open_content(&self, name: &ContentName, size: u64) -> Result<File, Error> {
        match self {
            Self::Local(local) => local.open_content(name).await,
            Self::Cloud(cloud) => cloud.download(name, size).await,
        }
    }

    /// Returns a range of bytes of a content as a response body. A long range is read while it is sent.
    ///
    /// # Errors
    /// 500 if the content is missing, 503 if it cannot be read or the store is unavailable.
    pub(crate) async fn read(&self, name: &ContentName, range: Range<u64>) -> Result<BoxBody, Error> {
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

    /// Lists all contents in batches of up to [`LIST_BATCH`]. Skips everything whose name is not that of a content.
    pub(crate) fn list(&self) -> BoxStream<'_, Result<Vec<ContentEntry>, Error>> {
        match self {
            Self::Local(local) => Box::pin(local.list()),
            Self::Cloud(cloud) => Box::pin(cloud.list()),
        }
    }

    /// Removes contents. Ignores those that do not exist.
    ///
    /// # Errors
    /// 503 if some could not be removed.
    pub(crate) async fn remove(&self, names: Vec<ContentName>) -> Result<(), Error> {
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
            // Staged files of uploads to a bucket have no names. A rule of the bucket aborts multipart uploads.
            Self::Cloud(_) => Ok(0),
        }
    }
}
