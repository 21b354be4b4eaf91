//! Finding and making smaller copies.

use std::io::BufReader;
use std::sync::Arc;
use std::time::Instant;

use actix_web::rt;
use actix_web::web::Bytes;
use common::Error;
use common::validation::{Code, ValidationErrors};
use images::{CopyJob, Encoded, Format, ImageError, MAX_PIXELS, MetadataFormat, find_metadata};
use moka::future::Cache;
use serde_json::json;

use super::ImageCopy;
use super::decodes::{self, Decodes, QueueSlot};
use crate::files::blob_store::{BlobName, BlobStore};
use crate::files::model::File;

/// Images without a smaller copy whose reason is remembered, so that they are not decoded again.
const MAX_REMEMBERED: u64 = 10_000;

/// Makes smaller copies of images. Clones share their state.
#[derive(Clone)]
pub(crate) struct ImageCopies {
    blob_store: BlobStore,
    decodes: Arc<Decodes>,
    /// Why an image has no copy.
    failures: Cache<String, NoCopy>,
}

/// Why an image has no copy.
#[derive(Clone, Copy, Debug)]
enum NoCopy {
    TooManyPixels,
    Undecodable,
    /// The copy is not smaller than the original. Whether the original may be sent in its place: the client could not
    /// tell from the copy what the original has besides, such as metadata or more pixels.
    Larger {
        shows_original: bool,
    },
}

/// A copy that is in the store, or was just made.
pub(crate) struct FoundCopy {
    /// Its bytes.
    pub(crate) bytes: ByteSource,
    /// The media type.
    pub(crate) media_type: &'static str,
}

/// Where the bytes of a response are.
pub(crate) enum ByteSource {
    /// In a blob of this size.
    Stored(BlobName, u64),
    /// Here.
    Made(Bytes),
}

impl ImageCopies {
    /// Creates the maker of the copies in a store.
    pub(crate) fn new(blob_store: BlobStore) -> Self {
        Self { blob_store, decodes: Arc::default(), failures: Cache::new(MAX_REMEMBERED) }
    }

    /// Returns a copy of a file's content. `None` if the content is no image that can be decoded. `content` is the name
    /// of its blob, `tenant` the tenant that asks for it. If the client accepts the type of the
    /// original, also returns `None` if a copy would not be smaller.
    ///
    /// # Errors
    /// 400 `range` if the image has too many pixels, 429 if the tenant has used its time or too many copies are being
    /// made for it, 503 if too many copies are being made or the store is unavailable.
    pub(crate) async fn find_or_make(
        &self,
        tenant: &str,
        file: &File,
        original: &BlobName,
        copy: &ImageCopy,
        accepts_original: bool,
    ) -> Result<Option<FoundCopy>, Error> {
        let Some(format) = Format::of(&file.content_type) else { return Ok(None) };
        if let Some(found) = self.find(copy).await? {
            return Ok(Some(found));
        }
        if let Some(result) = self.no_copy(&copy.key(), accepts_original).await {
            return result;
        }
        let slot = self.decodes.enqueue(tenant).inspect_err(|_| decodes::refused().increment(1))?;
        let job = Job {
            copies: self.clone(),
            tenant: tenant.to_owned(),
            original: original.clone(),
            size: file.size.cast_unsigned(),
            is_kept: file.archived_at.is_none(),
            copy: copy.clone(),
            format,
            accepts_original,
            slot,
        };
        // Goes on if the client disconnects, since others may wait for the copy.
        let made = rt::spawn(job.run());
        made.await.map_err(|error| Error::Internal(error.into()))?
    }

    /// Removes all copies of an image.
    ///
    /// # Errors
    /// 503 if some could not be removed.
    pub(crate) async fn remove(&self, original: &BlobName) -> Result<(), Error> {
        self.blob_store.remove(ImageCopy::all_names(original)).await
    }

    /// Returns the result for a copy that is known not to be made.
    async fn no_copy(&self, key: &str, accepts_original: bool) -> Option<Result<Option<FoundCopy>, Error>> {
        self.failures.get(key).await?.result(accepts_original)
    }

    /// Returns the copy if the store has it.
    async fn find(&self, copy: &ImageCopy) -> Result<Option<FoundCopy>, Error> {
        for (name, media_type) in copy.names() {
            if let Some(size) = self.blob_store.size(&name).await? {
                return Ok(Some(FoundCopy { bytes: ByteSource::Stored(name, size), media_type }));
            }
        }
        Ok(None)
    }
}

impl NoCopy {
    /// Returns the result, or `None` if the copy has to be made for a client that does not accept the original.
    fn result(self, accepts_original: bool) -> Option<Result<Option<FoundCopy>, Error>> {
        match self {
            Self::Undecodable => Some(Ok(None)),
            Self::Larger { shows_original } => (shows_original && accepts_original).then_some(Ok(None)),
            Self::TooManyPixels => {
                let mut errors = ValidationErrors::default();
                let message = "must be left out: the image has more than 50 megapixels";
                errors.push_with("width", Code::Range, message, json!({ "maximumPixels": MAX_PIXELS }));
                Some(Err(Error::Validation(errors)))
            }
        }
    }
}

/// The work of making a copy.
struct Job {
    copies: ImageCopies,
    tenant: String,
    original: BlobName,
    /// Size of the content in bytes.
    size: u64,
    /// Whether the copy is put into the store. Copies of archived files are not.
    is_kept: bool,
    copy: ImageCopy,
    format: Format,
    accepts_original: bool,
    slot: QueueSlot,
}

/// A copy that was made.
struct Made {
    encoded: Encoded,
    /// Whether the original may be sent in place of a copy that is not smaller.
    shows_original: bool,
}

impl Job {
    async fn run(self) -> Result<Option<FoundCopy>, Error> {
        let ImageCopies { blob_store, decodes, failures } = &self.copies;
        let key = self.copy.key();
        let _lock = decodes.lock(&self.slot, &key).await?;
        // Another request may have made it meanwhile.
        if let Some(found) = self.copies.find(&self.copy).await? {
            return Ok(Some(found));
        }
        if let Some(result) = self.copies.no_copy(&key, self.accepts_original).await {
            return result;
        }
        let Made { encoded, shows_original } = match self.make().await? {
            Ok(made) => made,
            Err(ImageError::Io(error)) => {
                decodes::outcomes("failed").increment(1);
                return Err(Error::Unavailable(error.into(), "The file store"));
            }
            Err(error) => {
                let (reason, outcome) = match &error {
                    ImageError::TooManyPixels(_) => (NoCopy::TooManyPixels, "too_large"),
                    _ => (NoCopy::Undecodable, "undecodable"),
                };
                decodes::outcomes(outcome).increment(1);
                tracing::info!(content = key, error = %error, "an image has no smaller copy");
                failures.insert(key, reason).await;
                return reason.result(self.accepts_original).unwrap_or(Ok(None));
            }
        };
        decodes::outcomes("made").increment(1);
        if encoded.content.len() as u64 >= self.size {
            let reason = NoCopy::Larger { shows_original };
            failures.insert(key, reason).await;
            if let Some(result) = reason.result(self.accepts_original) {
                return result;
            }
        } else if self.is_kept
            && let Some(name) = self.copy.name(encoded.media_type)
        {
            let mut staging = blob_store.stage();
            staging.push(&encoded.content).await?;
            blob_store.put(staging.finish().await?, &name).await?;
        }
        let bytes = ByteSource::Made(encoded.content.into());
        Ok(Some(FoundCopy { bytes, media_type: encoded.media_type }))
    }

    /// Decodes the image and encodes the copy.
    ///
    /// # Errors
    /// 503 if the permits do not become free or the store is unavailable.
    async fn make(&self) -> Result<Result<Made, ImageError>, Error> {
        let ImageCopies { blob_store, decodes, .. } = &self.copies;
        let turn = decodes.acquire_turn(&self.slot, &self.tenant).await?;
        let core = decodes.acquire_core(&self.slot).await?;
        let file = Arc::new(blob_store.open_blob(&self.original, self.size).await?);
        let (format, max_width, encoding) = (self.format, self.copy.width.pixels(), self.copy.encoding);
        let (content, size) = (BufReader::new(file.clone()), self.size);
        let charge = decodes.start(&self.tenant);
        let prepared = blocking(move || {
            let _permits = (core, charge);
            CopyJob::new(content, format, max_width)
        });
        let job = match prepared.await {
            Ok(job) => job,
            Err(error) => return Ok(Err(error)),
        };
        // Nobody waits for a core that waits for memory.
        let memory = decodes.acquire_memory(&self.slot, &self.tenant, job.memory_bytes()).await?;
        let core = decodes.acquire_core(&self.slot).await?;
        let (charge, metadata_format) =
            (decodes.start(&self.tenant), MetadataFormat::of(format.media_type()));
        Ok(blocking(move || {
            // The thread owns the permits, because it goes on if the service stops waiting.
            let _permits = (turn, core, memory, charge);
            let started = Instant::now();
            let encoded = job.run(encoding)?;
            decodes::seconds().record(started.elapsed().as_secs_f64());
            let mut shows_original = false;
            if encoded.content.len() as u64 >= size && !encoded.is_reduced {
                let edits = metadata_format.map(|format| find_metadata(&*file, format)).transpose();
                shows_original = edits.map_err(ImageError::Io)?.is_some_and(|edits| edits.is_empty());
            }
            Ok(Made { encoded, shows_original })
        })
        .await)
    }
}

/// Works on an image on a thread where this may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    // A decoder that panics has found damaged content.
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ImageError::Undecodable(error.to_string())))
}
