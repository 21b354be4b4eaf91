//! Removes positions, XMP and IPTC data from images that every caller may download (`docs/api/files.md`, "Privacy").

use std::fs::File as DiskFile;
use std::sync::Arc;
use std::time::Duration;

use common::{Error, FairLimiter};
use database::Id;
use images::{Edit, MetadataFormat, find_metadata};

use super::blob_store::{BlobStore, Staged, StoredBlobs};
use super::model::{File, Upload};

/// How long a request waits until an image can be searched.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

const BUSY: &str = "Too many images are being searched for personal metadata: try again later.";

/// Removes metadata from images. Clones share the limits on how many are searched at once.
#[derive(Clone)]
pub(crate) struct MetadataStripper {
    blob_store: BlobStore,
    cores: Arc<FairLimiter>,
}

impl MetadataStripper {
    /// Creates the stripper for the blobs in a store.
    pub(crate) fn new(blob_store: BlobStore) -> Self {
        Self { blob_store, cores: Arc::new(FairLimiter::of_cores()) }
    }

    /// Removes the metadata of those contents of an upload that every caller may download. Content without metadata
    /// keeps its bytes. `tenant` is that of the caller.
    ///
    /// # Errors
    /// 503 if the disk is unavailable or too many images are being searched.
    pub(super) async fn strip_upload(
        &self,
        tenant: &str,
        upload: &mut Upload,
        contents: &mut [Staged],
    ) -> Result<(), Error> {
        for (file, content) in upload.files_mut().zip(contents) {
            if !file.is_public() {
                continue;
            }
            if let Some(stripped) = self.strip(tenant, content.file(), content.size, file).await? {
                file.hash.clone_from(&stripped.hash);
                file.size = stripped.size.cast_signed();
                *content = stripped;
            }
        }
        Ok(())
    }

    /// Returns a copy of the content of a file without metadata. `None` if there is none, or if the content is no
    /// image.
    ///
    /// # Errors
    /// 503 if the disk is unavailable or too many images are being searched.
    pub(super) async fn strip(
        &self,
        tenant: &str,
        content: Arc<DiskFile>,
        size: u64,
        file: &File,
    ) -> Result<Option<Staged>, Error> {
        let Some(format) = MetadataFormat::of(&file.content_type) else { return Ok(None) };
        let edits = self.find(tenant, content.clone(), format).await?;
        if edits.is_empty() {
            return Ok(None);
        }
        let mut staging = self.blob_store.stage();
        staging.push_edited(&content, size, edits).await?;
        staging.finish().await.map(Some)
    }

    /// Searches an image. That keeps a core busy for up to some tenths of a second.
    async fn find(
        &self,
        tenant: &str,
        content: Arc<DiskFile>,
        format: MetadataFormat,
    ) -> Result<Vec<Edit>, Error> {
        let permit = self.cores.acquire(tenant, WAIT_TIMEOUT).await.map_err(|_| Error::Busy(BUSY))?;
        let found = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            find_metadata(&*content, format)
        });
        let found = found.await.map_err(|error| Error::Internal(error.into()))?;
        found.map_err(|error| Error::Unavailable(error.into(), "The disk for uploads"))
    }
}

/// Files that were searched for metadata, and the blobs of their new contents, which are stored already.
pub(super) struct StrippedFiles {
    /// The files that were searched.
    pub(super) examined: Vec<Id>,
    /// Those of them that need another content.
    pub(super) files: Vec<StrippedFile>,
    /// The blobs of these contents.
    pub(super) blobs: StoredBlobs,
}

/// The new content of a file.
pub(super) struct StrippedFile {
    /// The file.
    pub(super) id: Id,
    /// The hash of the content before.
    pub(super) from: String,
    /// The hash of the new content.
    pub(super) hash: String,
    /// The size of the new content in bytes.
    pub(super) size: i64,
}

impl StrippedFiles {
    /// Creates an empty list. `grace` is the grace period of the sweep.
    pub(super) fn new(grace: Duration) -> Self {
        Self { examined: Vec::new(), files: Vec::new(), blobs: StoredBlobs::new(grace) }
    }

    /// Returns true if a file must be searched before every caller may download it.
    pub(super) fn lacks(&self, file: &File) -> bool {
        file.is_known_image() && !self.examined.contains(&file.id)
    }

    /// Returns the new content of a file that is public, if it has one.
    pub(super) fn find(&self, file: &File) -> Option<&StrippedFile> {
        let stripped =
            self.files.iter().find(|stripped| stripped.id == file.id && stripped.from == file.hash);
        stripped.filter(|_| file.is_public())
    }
}
