//! Where the content of files is kept: below one URL, which is a folder or a bucket.
//!
//! Content is first [staged](Staging) in a local file while it streams in, whatever the store: its hash, by which the
//! same content is found again, is known at its end only, and what turns out to be bad never gets further. Once
//! [kept](ContentStore::keep) it is there for good, and only then anything refers to it.
//!
//! **What may be removed.** Content gets a [name](Name) that was never used before each time it is kept. The table
//! `contents` says which name is in use for a hash; its rows are added with the record of a file and never removed. A
//! row whose content was kept longer ago than half the grace is refused. So content that is older than the grace and
//! has no row will never get one, and the [sweep](super::sweep) takes nothing from anybody: an upload of the same
//! content at that very moment finds no row and keeps its own, under another name.

mod cloud;
mod local;
mod name;
mod open;
mod reading;
mod staging;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;
use std::time::SystemTime;

use actix_web::body::BoxBody;
use common::Error;
use futures_util::stream::BoxStream;

pub use name::Name;
pub use staging::{Staged, Staging};

use crate::Settings;
use cloud::Cloud;
use local::Local;

/// How many names are listed and looked up at once.
const BATCH: usize = 1000;
const WHAT: &str = "The store of file contents";

/// A store of contents. Cheap to clone.
#[derive(Clone, Debug)]
pub enum ContentStore {
    /// A folder of this machine.
    Local(Local),
    /// A bucket.
    Cloud(Cloud),
}

/// A content in the store.
#[derive(Debug)]
pub struct Found {
    /// What it is called there.
    pub name: Name,
    /// Bytes.
    pub size: u64,
    /// When it was kept.
    pub modified: SystemTime,
}

impl ContentStore {
    /// Opens the store; a bucket that is out of reach is waited for, one that is not there is not.
    ///
    /// # Errors
    /// One sentence that says what to change.
    pub async fn open(settings: &Settings) -> anyhow::Result<Self> {
        match settings.store_url.strip_prefix("file://") {
            Some(folder) => Ok(Self::Local(Local::open(folder)?)),
            None => Ok(Self::Cloud(open::cloud(settings).await?)),
        }
    }

    /// Begins to take in content; nothing is written yet.
    pub fn begin(&self) -> Staging {
        match self {
            Self::Local(local) => Staging::new(Some(local.staging())),
            Self::Cloud(_) => Staging::new(None),
        }
    }

    /// Keeps content for good: a crash after this does not lose it.
    ///
    /// # Errors
    /// 503 when the store does not take it; nothing, or nothing that anybody refers to, is there then.
    pub async fn keep(&self, staged: Staged, name: &Name) -> Result<(), Error> {
        match self {
            Self::Local(local) => local.keep(staged, name).await,
            Self::Cloud(cloud) => cloud.keep(&staged, name).await,
        }
    }

    /// True when the content is there, all of it.
    ///
    /// # Errors
    /// 503 when nobody can tell.
    pub async fn has(&self, name: &Name, size: u64) -> Result<bool, Error> {
        let found = match self {
            Self::Local(local) => local.size(name).await?,
            Self::Cloud(cloud) => cloud.size(name).await?,
        };
        Ok(found == Some(size))
    }

    /// Bytes of a content, as the body of an answer; more than a few are read as they are sent.
    ///
    /// # Errors
    /// 500 when the content is not there, 503 when it cannot be read or the whole store is not there.
    pub async fn read(&self, name: &Name, bytes: Range<u64>) -> Result<BoxBody, Error> {
        match self {
            Self::Local(local) => local.read(name, bytes).await,
            Self::Cloud(cloud) => cloud.read(name, bytes).await,
        }
    }

    /// True when the store answers.
    pub async fn is_reachable(&self) -> bool {
        match self {
            Self::Local(local) => local.is_reachable().await,
            Self::Cloud(cloud) => cloud.is_reachable().await,
        }
    }

    /// Every content, [`BATCH`] at a time. What is called otherwise than contents are is not ours and not listed.
    pub fn list(&self) -> BoxStream<'_, Result<Vec<Found>, Error>> {
        match self {
            Self::Local(local) => Box::pin(local.list()),
            Self::Cloud(cloud) => Box::pin(cloud.list()),
        }
    }

    /// Removes contents; those that are gone already are gone.
    ///
    /// # Errors
    /// 503 when some could not be removed.
    pub async fn remove(&self, names: Vec<Name>) -> Result<(), Error> {
        match self {
            Self::Local(local) => local.remove(names).await,
            Self::Cloud(cloud) => cloud.remove(&names).await,
        }
    }

    /// Removes what a crash left behind of uploads, and tells how many that were.
    ///
    /// # Errors
    /// 503 when some could not be removed.
    pub async fn tidy(&self) -> Result<usize, Error> {
        match self {
            Self::Local(local) => local.tidy().await,
            // Its uploads have no names here; parts of them in the bucket go by the bucket's rule.
            Self::Cloud(_) => Ok(0),
        }
    }
}

/// Runs file operations where they do not keep other requests waiting.
async fn blocking<T: Send + 'static>(f: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(f).await.map_err(|e| Error::Internal(e.into()))?;
    done.map_err(unavailable)
}

fn unavailable(cause: impl Into<anyhow::Error>) -> Error {
    Error::Unavailable(cause.into(), WHAT)
}

/// Content that a file has and the store has not will not come back by trying again.
fn lost(cause: impl Into<anyhow::Error>) -> Error {
    Error::Internal(cause.into().context("content is missing in the store"))
}
