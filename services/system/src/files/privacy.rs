//! Removes positions, XMP and IPTC data from images that every caller may download (`docs/api/files.md`, "Privacy").

use std::fs::File as DiskFile;
use std::sync::Arc;
use std::time::Duration;

use common::{Error, FairLimiter};
use database::Database;
use images::{Edit, MetadataFormat, find_metadata};

use super::blob_store::{BlobName, BlobStore, Staged};
use super::model::{File, Upload};
use super::sharing::{StrippedFile, StrippedFiles};
use super::store::blobs::find_usable_names;

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

    /// Stores contents without metadata for these files. On an error, removes those that were stored. `grace` is the
    /// grace period of the sweep.
    ///
    /// # Errors
    /// 500 if a blob is missing; 503 if the database, the blob store or the disk is unavailable, or too many
    /// images are being searched.
    pub(super) async fn strip_stored(
        &self,
        db: &Database,
        tenant: &str,
        files: Vec<(File, BlobName)>,
        grace: Duration,
    ) -> Result<StrippedFiles, Error> {
        let mut stripped = StrippedFiles::new(grace);
        for (file, name) in files {
            if let Err(error) = self.add(db, tenant, file, &name, &mut stripped).await {
                stripped.blobs.discard(&self.blob_store).await;
                return Err(error);
            }
        }
        Ok(stripped)
    }

    async fn add(
        &self,
        db: &Database,
        tenant: &str,
        file: File,
        name: &BlobName,
        stripped: &mut StrippedFiles,
    ) -> Result<(), Error> {
        let size = file.size.cast_unsigned();
        let content = Arc::new(self.blob_store.open_blob(name, size).await?);
        if let Some(content) = self.strip(tenant, content, size, &file).await? {
            let (hash, size) = (content.hash.clone(), content.size.cast_signed());
            let hashes = [hash.clone()];
            let mut names = db.read(move |c| find_usable_names(c, &hashes)).await?;
            stripped.blobs.add(&self.blob_store, content, names.remove(&hash)).await?;
            stripped.files.push(StrippedFile { id: file.id, from: file.hash, hash, size });
        }
        stripped.examined.push(file.id);
        Ok(())
    }

    /// Returns a copy of the content of a file without metadata. `None` if there is none, or if the content is no
    /// image.
    async fn strip(
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
